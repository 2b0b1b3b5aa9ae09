typedef int gpuc_topi_empty;
