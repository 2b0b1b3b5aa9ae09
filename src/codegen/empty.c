typedef int gpuc_codegen_empty;
