typedef int gpuc_arith_empty;
