typedef int gpuc_build_empty;
