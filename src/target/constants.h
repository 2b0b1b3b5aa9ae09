/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers by which default schedules decide, one struct per class of targets; constants.def says what each is, and
 * which of them bench/fit.sh measures. */
#ifndef GPUC_TARGET_CONSTANTS_H
#define GPUC_TARGET_CONSTANTS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct gpuc_constants {
#define GPUC_CONSTANT(type, name, gpu, lanes, simd, c, how, unit, meaning) type name;
#include "target/constants.def"
} gpuc_constants;

/* What is decided before a target is known. */
enum {
#define GPUC_COMMON(name, value, unit, meaning) GPUC_COMMON_##name = (value),
#include "target/constants.def"
};

typedef enum gpuc_constant_id {
#define GPUC_CONSTANT(type, name, ...) GPUC_CONSTANT_##name,
#include "target/constants.def"
    GPUC_CONSTANT_COUNT
} gpuc_constant_id;

typedef struct gpuc_constant_info {
    const char *name, *unit, *meaning;
    bool fitted; /* bench/fit.sh measures it */
} gpuc_constant_info;
extern const gpuc_constant_info gpuc_target_constant_infos[GPUC_CONSTANT_COUNT];

struct gpuc_target;
/* Those of the class that a target belongs to; gpuc_target.constants, unless a developer's tool sets others. */
const gpuc_constants *gpuc_target_constants_of(const struct gpuc_target *t);
/* By number, for tools that print and vary them. An integer is set to the nearest one. */
double gpuc_target_constant_get(const gpuc_constants *c, gpuc_constant_id id);
void gpuc_target_constant_set(gpuc_constants *c, gpuc_constant_id id, double value);

#endif
