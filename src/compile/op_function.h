/* SPDX-License-Identifier: Apache-2.0 */
/* Operators as packed functions: topi.<name>. */
#ifndef GPUC_COMPILE_OP_FUNCTION_H
#define GPUC_COMPILE_OP_FUNCTION_H

#include <gpuc/runtime.h>

/* Enters every row of the operator table by its names. */
GPUC_NODISCARD gpuc_status gpuc_compile_op_functions_register(gpuc_runtime *rt);

#endif
