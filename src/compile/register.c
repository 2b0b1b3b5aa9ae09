/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler's names in a runtime's registry. */
#include <gpuc/build.h>

#include "base/require.h"
#include "compile/build_code.h"
#include "compile/op_function.h"

gpuc_status gpuc_compiler_register(gpuc_runtime *rt)
{
    GPUC_REQUIRE(rt);
    GPUC_TRY(gpuc_module_types_register(rt));
    GPUC_TRY(gpuc_compile_builders_register(rt));
    return gpuc_compile_op_functions_register(rt);
}
