typedef int gpuc_codegen_c_empty;
