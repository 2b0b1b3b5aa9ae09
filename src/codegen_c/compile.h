/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUC_CODEGEN_C_COMPILE_H
#define GPUC_CODEGEN_C_COMPILE_H

/* Removes the temporary files of compilations that are under way; async-signal-safe, for a SIGINT
 * handler. */
void gpuc_codegen_c_discard_pending(void);

#endif
