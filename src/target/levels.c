/* SPDX-License-Identifier: Apache-2.0 */
/* What the value of -mcpu of c says of vectors, and targets that list several levels of instruction sets. */
#include <string.h>

#include "target/private.h"

typedef struct level {
    const char *name; /* as GCC and Clang know it for -march= */
    int bits, registers;
} level;

/* Each has what those before it have. */
static const level levels[] = {
    {"x86-64", 128, 16}, {"x86-64-v2", 128, 16}, {"x86-64-v3", 256, 16}, {"x86-64-v4", 512, 32}};
enum { NUM_LEVELS = sizeof levels / sizeof *levels, AARCH64_BITS = 128, AARCH64_REGISTERS = 32 };

static int find_level(const char *name, size_t length)
{
    for (int i = 0; i < NUM_LEVELS; i++)
        if (strlen(levels[i].name) == length && memcmp(levels[i].name, name, length) == 0) return i;
    return -1;
}

/* The levels that a list names, as bits; a status if it has anything else. */
static gpuc_status read_list(const char *list, uint32_t *out)
{
    *out = 0;
    for (const char *at = list;; at++) {
        size_t n = strcspn(at, ",");
        int i = find_level(at, n);
        if (i < 0)
            return gpuc_fail(
                GPUC_INVALID_ARGUMENT,
                "a list is of x86-64, x86-64-v2, x86-64-v3 and x86-64-v4, which '%.*s' is not; give "
                "other processors a target each, the richest first",
                (int)n, at);
        if (*out >> i & 1)
            return gpuc_fail(GPUC_INVALID_ARGUMENT, "'%s' stands in the list twice", levels[i].name);
        *out |= 1u << i;
        at += n;
        if (!*at) return NULL;
    }
}

gpuc_status gpuc_target_check_mcpu(const gpuc_target_value *v)
{
    uint32_t set;
    return strchr(v->s, ',') ? read_list(v->s, &set) : NULL;
}

static const char *mcpu_of(const gpuc_target *t)
{
    return gpuc_target_get_string(t, "mcpu");
}

/* As bits; 0: it lists none. */
static uint32_t levels_of(const gpuc_target *t)
{
    uint32_t set = 0;
    gpuc_status wrong = strchr(mcpu_of(t), ',') ? read_list(mcpu_of(t), &set) : NULL;
    if (wrong) set = 0; /* of a kind whose mcpu is something else */
    gpuc_status_release(wrong);
    return set;
}

static int richest(uint32_t set)
{
    int i = NUM_LEVELS - 1;
    while (i > 0 && !(set >> i & 1)) i--;
    return i;
}

int gpuc_target_num_levels(const gpuc_target *t)
{
    uint32_t set = levels_of(t);
    return set ? __builtin_popcount(set) : 1;
}

const gpuc_target *gpuc_target_level(gpuc_ctx *ctx, const gpuc_target *t, int i)
{
    uint32_t set = levels_of(t);
    if (!set) return t;
    int64_t bits = t->vector_bits ? t->vector_bits : levels[richest(set)].bits;
    for (; i > 0; i--) set &= ~(1u << richest(set));
    if (!gpuc_target_get_int(t, "weight_block"))
        t = gpuc_target_with(ctx, t, "weight_block", gpuc_target_int(bits / GPUC_FLOAT32.bits));
    return gpuc_target_with(ctx, t, "mcpu", gpuc_target_string(levels[richest(set)].name));
}

static void fill_vectors(gpuc_target_draft *d, int bits, int registers)
{
    gpuc_target_derive(d, GPUC_TARGET_ATTR_vector_bits, bits);
    gpuc_target_derive(d, GPUC_TARGET_ATTR_vector_registers, registers);
}

/* What a list leaves open each level fills in. */
gpuc_status gpuc_target_c_canonicalise(gpuc_target_draft *d)
{
    const char *mcpu = mcpu_of(&d->t);
    int i = find_level(mcpu, strlen(mcpu));
    if (strcmp(mcpu, "native") == 0)
        gpuc_target_fill_native(d);
    else if (i >= 0)
        fill_vectors(d, levels[i].bits, levels[i].registers);
    else if (*mcpu && strstr(gpuc_target_get_string(&d->t, "cc"), "aarch64"))
        fill_vectors(d, AARCH64_BITS, AARCH64_REGISTERS);
    return NULL;
}
