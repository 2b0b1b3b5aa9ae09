typedef int gpuc_executor_empty;
