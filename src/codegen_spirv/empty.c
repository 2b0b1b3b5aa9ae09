typedef int gpuc_codegen_spirv_empty;
