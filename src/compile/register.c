/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler's names in a runtime's registry. */
#include <gpuc/build.h>

#include "base/buf.h"
#include "base/require.h"
#include "compile/build_code.h"
#include "compile/op_function.h"
#include "library/code_module.h"
#include "runtime/services.h"

/* codegen.spirv.disassemble: (bytes) -> string */
static gpuc_status disassemble(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    gpuc_buf text;
    if (num_args != 1 || args[0].kind != GPUC_VALUE_BYTES || !args[0].as.bytes.data ||
        args[0].as.bytes.size % sizeof(uint32_t))
        return gpuc_fail(GPUC_INVALID_ARGUMENT, GPUC_LIBRARY_SPIRV_ASM " takes the bytes of SPIR-V words");
    gpuc_buf_init(&text, gpuc_runtime_allocator(self));
    gpuc_status status =
        gpuc_codegen_assembly(args[0].as.bytes.data, args[0].as.bytes.size / sizeof(uint32_t), &text);
    if (!status) status = gpuc_buf_status(&text);
    if (!status) status = gpuc_value_set_string(self, ret, gpuc_buf_cstr(&text));
    gpuc_buf_deinit(&text);
    return status;
}

gpuc_status gpuc_compiler_register(gpuc_runtime *rt)
{
    GPUC_REQUIRE(rt);
    GPUC_TRY(gpuc_module_types_register(rt));
    GPUC_TRY(gpuc_compile_builders_register(rt));
    GPUC_TRY(gpuc_registry_set_fn(rt, GPUC_LIBRARY_SPIRV_ASM, disassemble, rt, NULL, false));
    return gpuc_compile_op_functions_register(rt);
}
