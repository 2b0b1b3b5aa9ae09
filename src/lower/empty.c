typedef int gpuc_lower_empty;
