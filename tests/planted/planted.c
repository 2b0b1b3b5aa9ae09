/* SPDX-License-Identifier: Apache-2.0 */
/* planted MISTAKE: does what a sanitizer must report. What it works on is volatile, so that the compiler can
 * neither see the mistake nor leave it out. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile int four = 4, bits = 32;
static int *volatile pointer;
static char
    *volatile bytes; /* of a size that the compiler does not know: gcc 14 finds the mistake by it, not by address */

static int overflow(void)
{
    bytes = malloc((size_t)four);
    if (!bytes) return 0;
    bytes[four] = 1;
    int c = bytes[four];
    free(bytes);
    return c;
}

static int stale(void)
{
    int *p = malloc(sizeof *p);
    if (!p) return 0;
    *p = four;
    pointer = p;
    free(p);
    return *pointer;
}

static int leak(void)
{
    pointer = malloc((size_t)four);
    pointer = NULL;
    return 0;
}

static int add(void)
{
    volatile int large = INT_MAX;
    return large + four;
}

static int shift(void)
{
    return four << bits;
}

static int index_of_array(void)
{
    static int values[4];
    return values[four];
}

static int null(void)
{
    struct pair {
        int a, b;
    };
    return ((struct pair *)pointer)->b;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } mistakes[] = {
        {"overflow", overflow}, {"stale", stale},          {"leak", leak}, {"signed", add},
        {"shift", shift},       {"index", index_of_array}, {"null", null},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++)
        if (argc == 2 && strcmp(argv[1], mistakes[i].name) == 0) {
            printf("did %s: %d\n", argv[1], mistakes[i].run());
            return 0;
        }
    return 0;
}
