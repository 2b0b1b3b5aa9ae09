typedef int gpuc_base_empty;
