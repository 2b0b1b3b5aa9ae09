typedef int gpuc_target_empty;
