/* SPDX-License-Identifier: Apache-2.0 */
/* Modules of code: the bytes of abi/code.h as objects that can be asked for their kernels and source. */
#ifndef GPUC_LIBRARY_CODE_MODULE_H
#define GPUC_LIBRARY_CODE_MODULE_H

#include <gpuc/runtime.h>

/* Makes a module of code of a type ("spirv", "opencl_c", "cpu_so") from bytes, which are copied. UNSUPPORTED for
 * another type, INVALID_DATA if the bytes are damaged. */
GPUC_NODISCARD gpuc_status gpuc_library_code_module(gpuc_runtime *rt, const char *type_key, const void *bytes,
                                                    size_t size, gpuc_module **out);
/* Registers `runtime.module.loadbinary_<type>` and loadfile_<ext> of these types. */
GPUC_NODISCARD gpuc_status gpuc_library_register_code(gpuc_runtime *rt);

/* The name of the registered function (bytes) -> string that gives SPIR-V as assembly. */
#define GPUC_LIBRARY_SPIRV_ASM "codegen.spirv.disassemble"

#endif
