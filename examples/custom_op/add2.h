/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ADD2_H
#define ADD2_H

#include <gpuc/op.h>

extern const gpuc_op add2_op;

#endif
