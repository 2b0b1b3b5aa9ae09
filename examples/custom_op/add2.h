/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ADD2_H
#define ADD2_H

#include <gpuc/op.h>

extern const gpuc_op add2_op;
extern const gpuc_op_implementation add2_by_row; /* for CPUs, where input 1 is broadcast */

#endif
