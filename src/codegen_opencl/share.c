/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels whose texts differ in whole numbers only become one function, which takes these numbers as further
 * arguments. Networks repeat a block with other extents many times, and drivers for CPUs compile each kernel
 * anew while the program waits, for 50 to 1000 ms.
 *
 * Numbers stay where the compiler must see them to make good code of it: indices and extents of private
 * arrays, which become registers; ends of short loops, which it unrolls; divisors within loops. */
#include <string.h>

#include "codegen_opencl/private.h"

enum {
    SHORT_LOOP = 16,
    MOST_VALUES = 48, /* further arguments: each launch sets them, and drivers allow 1024 bytes of all */
    HOLE = 1,         /* in a form: a number that may be an argument */
    NAME = 2          /* the kernel's name */
};

typedef struct form {
    gpuc_buf *text;    /* with holes, for comparing */
    int32_t *values;   /* of the holes */
    size_t *from, *to; /* where they are in the kernel's text */
    int count;
    int kernel; /* its number */
} form;

typedef struct scanner {
    const char *text, *kernel;
    size_t at;
    const char *word; /* the last identifier, if the last token was one */
    size_t word_size;
    bool divides;                   /* the last token was / or % */
    int braces, parens, header;     /* header: parens of the loop's header that this is in; 0: none */
    int brackets, private_brackets; /* private_brackets: depth of the outermost one of a private array */
    form *out;
} scanner;

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is(const char *word, size_t size, const char *text)
{
    return size == strlen(text) && memcmp(word, text, size) == 0;
}

static bool is_global(const scanner *s)
{
    const char *end = strstr(s->text, ")\n{");
    for (const char *p = s->text; s->word && end && (p = strstr(p, "*restrict ")) && p < end;) {
        p += strlen("*restrict ");
        if (strncmp(p, s->word, s->word_size) == 0 && p[s->word_size] == ',') return true;
    }
    return false;
}

/* Compilers divide it once, outside of loops. */
static bool is_group_id(const scanner *s)
{
    static const char end[] = " = get_group_id(", start[] = "const int ";
    size_t before = strlen(start);
    for (const char *p = s->text; s->word && (p = strstr(p, end)); p++)
        if ((size_t)(p - s->text) > before + s->word_size &&
            memcmp(p - s->word_size, s->word, s->word_size) == 0 &&
            memcmp(p - s->word_size - before, start, before) == 0)
            return true;
    return false;
}

static void copy(scanner *s, size_t end)
{
    gpuc_buf_bytes(s->out->text, s->text + s->at, end - s->at);
    s->at = end;
}

static bool may_vary(const scanner *s, int64_t value)
{
    if (s->braces == 0 || value > INT32_MAX || s->private_brackets) return false;
    if (s->header && value <= SHORT_LOOP) return false;
    return !s->divides || s->braces == 1;
}

static void scan_number(scanner *s)
{
    size_t end = s->at;
    bool whole = true;
    int64_t value = 0;
    for (; is_word(s->text[end]) || s->text[end] == '.' ||
           ((s->text[end] == '+' || s->text[end] == '-') && !whole &&
            (s->text[end - 1] == 'e' || s->text[end - 1] == 'E'));
         end++) {
        whole = whole && is_digit(s->text[end]) && value <= INT32_MAX;
        if (whole) value = value * 10 + (s->text[end] - '0');
    }
    bool hole = whole && may_vary(s, value);
    s->word = NULL;
    s->divides = false;
    if (!hole) {
        copy(s, end);
        return;
    }
    form *f = s->out;
    f->values[f->count] = (int32_t)value;
    f->from[f->count] = s->at;
    f->to[f->count++] = end;
    gpuc_buf_u8(f->text, HOLE);
    s->at = end;
}

static void scan_word(scanner *s)
{
    size_t start = s->at, end = start;
    while (is_word(s->text[end])) end++;
    s->word = s->text + start;
    s->word_size = end - start;
    s->divides = false;
    if (is(s->word, s->word_size, "for")) s->header = s->parens + 1;
    if (is(s->word, s->word_size, s->kernel)) {
        gpuc_buf_u8(s->out->text, NAME);
        s->at = end;
    } else {
        copy(s, end);
    }
}

static void scan_mark(scanner *s)
{
    char c = s->text[s->at];
    s->braces += (c == '{') - (c == '}');
    s->parens += (c == '(') - (c == ')');
    if (c == ')' && s->parens < s->header) s->header = 0;
    if (c == '[') {
        s->brackets++;
        if (!s->private_brackets && !is_global(s)) s->private_brackets = s->brackets;
    }
    if (c == ']') {
        if (s->private_brackets == s->brackets) s->private_brackets = 0;
        s->brackets--;
    }
    if (c != ' ' && c != '\n') {
        s->divides = (c == '/' || c == '%') && !is_group_id(s);
        s->word = NULL;
    }
    copy(s, s->at + 1);
}

static form *form_of(gpuc_ctx *ctx, const gpuc_kernel_code *k)
{
    form *f = gpuc_new(ctx, form);
    f->text = gpuc_opencl_buf(ctx);
    f->values = gpuc_new_array(ctx, int32_t, k->size);
    f->from = gpuc_new_array(ctx, size_t, k->size);
    f->to = gpuc_new_array(ctx, size_t, k->size);
    scanner s = {.text = k->bytes, .kernel = k->meta.name, .out = f};
    while (s.text[s.at]) {
        char c = s.text[s.at];
        if (c == '#')
            copy(&s, s.at + strcspn(s.text + s.at, "\n"));
        else if (is_digit(c))
            scan_number(&s);
        else if (is_word(c))
            scan_word(&s);
        else
            scan_mark(&s);
    }
    return f;
}

/* Kernels of one form. */
typedef struct group {
    gpuc_ptrs forms;
    int *argument; /* per hole: number of the further argument; -1: all have the same number there */
    int num_arguments, *hole; /* per argument: one of its holes */
} group;

static bool same_values(const group *g, int a, int b)
{
    for (size_t i = 0; i < g->forms.count; i++) {
        const form *f = g->forms.at[i];
        if (f->values[a] != f->values[b]) return false;
    }
    return true;
}

static bool is_constant(const group *g, int hole)
{
    const form *first = g->forms.at[0];
    for (size_t i = 1; i < g->forms.count; i++)
        if (((form *)g->forms.at[i])->values[hole] != first->values[hole]) return false;
    return true;
}

/* False: too many. */
static bool number_arguments(gpuc_ctx *ctx, group *g)
{
    int n = ((form *)g->forms.at[0])->count;
    g->argument = gpuc_new_array(ctx, int, n);
    g->hole = gpuc_new_array(ctx, int, MOST_VALUES);
    for (int h = 0; h < n; h++) {
        int a = is_constant(g, h) ? -1 : 0;
        while (a >= 0 && a < g->num_arguments && !same_values(g, g->hole[a], h)) a++;
        g->argument[h] = a;
        if (a < g->num_arguments) continue;
        if (a == MOST_VALUES) return false;
        g->hole[g->num_arguments++] = h;
    }
    return true;
}

static const char *shared_text(gpuc_ctx *ctx, const group *g, const char *text)
{
    const form *f = g->forms.at[0];
    const char *prefix = "number", *body = strstr(text, ")\n{");
    size_t at = (size_t)(body - text);
    gpuc_buf *out = gpuc_opencl_buf(ctx);
    while (strstr(text, prefix)) prefix = gpuc_ctx_printf(ctx, "%s_", prefix);
    gpuc_buf_bytes(out, text, at);
    for (int a = 0; a < g->num_arguments; a++) gpuc_buf_printf(out, ", int %s%d", prefix, a);
    for (int h = 0; h < f->count; h++) {
        if (g->argument[h] < 0) continue;
        gpuc_buf_bytes(out, text + at, f->from[h] - at);
        gpuc_buf_printf(out, "%s%d", prefix, g->argument[h]);
        at = f->to[h];
    }
    gpuc_buf_str(out, text + at);
    size_t size;
    return gpuc_opencl_take(ctx, out, &size);
}

static void share(gpuc_ctx *ctx, const gpuc_kernel_code *kernels, group *g, gpuc_opencl_entry *entries)
{
    if (g->forms.count < 2 || !number_arguments(ctx, g)) return;
    int first = ((form *)g->forms.at[0])->kernel;
    entries[first].text = shared_text(ctx, g, kernels[first].bytes);
    for (size_t i = 0; i < g->forms.count; i++) {
        const form *f = g->forms.at[i];
        gpuc_opencl_entry *e = &entries[f->kernel];
        if (i > 0) e->text = NULL;
        e->name = kernels[first].meta.name;
        e->num_values = g->num_arguments;
        e->values = gpuc_new_array(ctx, int32_t, g->num_arguments);
        for (int a = 0; a < g->num_arguments; a++) e->values[a] = f->values[g->hole[a]];
    }
}

void gpuc_opencl_share(gpuc_ctx *ctx, int n, const gpuc_kernel_code *kernels, gpuc_opencl_entry *entries)
{
    gpuc_strmap groups;
    gpuc_ptrs order = {0};
    gpuc_strmap_init(&groups, ctx);
    for (int i = 0; i < n; i++) {
        form *f = form_of(ctx, &kernels[i]);
        f->kernel = i;
        const char *key = gpuc_buf_cstr(f->text);
        group *g = gpuc_strmap_get(&groups, key);
        if (!g) {
            g = gpuc_new(ctx, group);
            gpuc_strmap_set(&groups, key, g);
            gpuc_ptrs_push(ctx, &order, g);
        }
        gpuc_ptrs_push(ctx, &g->forms, f);
        size_t size;
        gpuc_opencl_take(ctx, f->text, &size);
    }
    for (size_t i = 0; i < order.count; i++) share(ctx, kernels, order.at[i], entries);
}
