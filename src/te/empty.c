typedef int gpuc_te_empty;
