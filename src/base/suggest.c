/* SPDX-License-Identifier: Apache-2.0 */
/* Edit distance with transpositions of neighbours (optimal string alignment), case ignored. */
#include <string.h>

#include <gpuc/base.h>

#define LONGEST 96

static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

static int min3(int a, int b, int c)
{
    int m = a < b ? a : b;
    return m < c ? m : c;
}

static int distance(const char *a, int na, const char *b, int nb)
{
    int rows[3][LONGEST + 1];
    for (int j = 0; j <= nb; j++) rows[0][j] = j;
    for (int i = 1; i <= na; i++) {
        int *now = rows[i % 3];
        const int *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= nb; j++) {
            int differ = lower(a[i - 1]) != lower(b[j - 1]);
            now[j] = min3(last[j] + 1, now[j - 1] + 1, last[j - 1] + differ);
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]) &&
                before[j - 2] + 1 < now[j])
                now[j] = before[j - 2] + 1;
        }
    }
    return rows[na % 3][nb];
}

/* A third of the longer word may differ, as in clang, so that "Loop" is not taken for "Floor". */
const char *gpuc_suggest(const char *word, const char *const *names, size_t count)
{
    const char *best = NULL;
    size_t length = strlen(word);
    if (length == 0 || length > LONGEST) return NULL;
    int best_distance = LONGEST;
    for (size_t i = 0; i < count; i++) {
        size_t n = strlen(names[i]), longer = n > length ? n : length;
        if (n == 0 || n > LONGEST) continue;
        int d = distance(word, (int)length, names[i], (int)n), max = longer < 3 ? 1 : (int)longer / 3;
        if (d < best_distance && d <= max && (size_t)d < longer) {
            best_distance = d;
            best = names[i];
        }
    }
    return best;
}
