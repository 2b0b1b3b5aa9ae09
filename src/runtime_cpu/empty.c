typedef int gpuc_runtime_cpu_empty;
