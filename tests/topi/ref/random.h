/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUC_TESTS_TOPI_REF_RANDOM_H
#define GPUC_TESTS_TOPI_REF_RANDOM_H

#include "ref.h"

/* Makes output 0, the next key, and returns n words of the key in input 0, from malloc. */
uint64_t *ref_random_words(ref_call *c, int64_t n);

#endif
