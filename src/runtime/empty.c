typedef int gpuc_runtime_empty;
