typedef int gpuc_tir_empty;
