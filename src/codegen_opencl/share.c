/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels whose texts differ in whole numbers only become one function, which takes these numbers as further
 * arguments. Networks repeat a block with other extents many times, and drivers for CPUs compile each kernel
 * anew while the program waits, for 50 to 1000 ms.
 *
 * Numbers stay where the compiler must see them to make good code of it: indices and extents of private
 * arrays, which become registers; ends of short loops, which it unrolls; divisors within loops. */
#include <string.h>

#include "codegen/share.h"
#include "codegen_opencl/private.h"

enum {
    SHORT_LOOP = 4,
    SHORT_LOOP_OVER_ARRAY = 16, /* of a kernel with a private array that loops index: registers if unrolled */
    MAX_VALUES = 48, /* further arguments: each launch sets them, and drivers allow 1024 bytes of all */
    HOLE = 1,        /* in a form: a number that may be an argument */
    NAME = 2         /* the kernel's name */
};

typedef struct form {
    gpuc_kernel_form base;
    gpuc_buf *text;    /* with holes, for comparing */
    int32_t *values;   /* of the holes */
    size_t *from, *to; /* where they are in the kernel's text */
} form;

typedef struct scanner {
    const char *text, *kernel;
    size_t at;
    int short_loop;
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

static bool is_global(const char *text, const char *word, size_t size)
{
    const char *end = strstr(text, ")\n{");
    for (const char *p = text; word && end && (p = strstr(p, "*restrict ")) && p < end;) {
        p += strlen("*restrict ");
        if (strncmp(p, word, size) == 0 && p[size] == ',') return true;
    }
    return false;
}

/* Whether the kernel has a private array that it indexes by computed numbers. */
static bool computes_places(const char *text)
{
    int depth = 0;
    const char *word = NULL;
    size_t size = 0, word_size = 0;
    for (const char *p = strstr(text, ")\n{"); p && *p; p += size) {
        for (size = 0; is_word(p[size]);) size++;
        if (size > 0) {
            if (depth > 0 && !is_digit(*p)) return true;
            word = p;
            word_size = size;
            continue;
        }
        if (*p == '[' && (depth > 0 || !is_global(text, word, word_size))) depth++;
        depth -= *p == ']' && depth > 0;
        size = 1;
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
    if (s->header && value <= s->short_loop) return false;
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
    int n = f->base.num_holes++;
    f->values[n] = (int32_t)value;
    f->from[n] = s->at;
    f->to[n] = end;
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
        if (!s->private_brackets && !is_global(s->text, s->word, s->word_size))
            s->private_brackets = s->brackets;
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

static form *form_of(gpuc_ctx *ctx, int kernel, const gpuc_kernel_code *k)
{
    form *f = gpuc_new(ctx, form);
    f->base.kernel = kernel;
    f->text = gpuc_opencl_buf(ctx);
    f->values = gpuc_new_array(ctx, int32_t, k->size);
    f->from = gpuc_new_array(ctx, size_t, k->size);
    f->to = gpuc_new_array(ctx, size_t, k->size);
    scanner s = {.text = k->bytes, .kernel = k->meta.name, .out = f};
    s.short_loop = computes_places(k->bytes) ? SHORT_LOOP_OVER_ARRAY : SHORT_LOOP;
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
    f->base.values = f->values;
    f->base.bytes = gpuc_opencl_take(ctx, f->text, &f->base.size);
    return f;
}

static const char *shared_text(gpuc_ctx *ctx, const gpuc_kernel_group *g, const char *text)
{
    const form *f = g->forms.at[0];
    const char *prefix = "number", *body = strstr(text, ")\n{");
    size_t at = (size_t)(body - text);
    gpuc_buf *out = gpuc_opencl_buf(ctx);
    while (strstr(text, prefix)) prefix = gpuc_ctx_printf(ctx, "%s_", prefix);
    gpuc_buf_bytes(out, text, at);
    for (int a = 0; a < g->num_arguments; a++) gpuc_buf_printf(out, ", int %s%d", prefix, a);
    for (int h = 0; h < f->base.num_holes; h++) {
        if (g->argument[h] < 0) continue;
        gpuc_buf_bytes(out, text + at, f->from[h] - at);
        gpuc_buf_printf(out, "%s%d", prefix, g->argument[h]);
        at = f->to[h];
    }
    gpuc_buf_str(out, text + at);
    size_t size;
    return gpuc_opencl_take(ctx, out, &size);
}

static void share(gpuc_ctx *ctx, const gpuc_kernel_code *kernels, const gpuc_kernel_group *g,
                  gpuc_opencl_entry *entries)
{
    int first = ((form *)g->forms.at[0])->base.kernel;
    entries[first].text = shared_text(ctx, g, kernels[first].bytes);
    for (size_t i = 0; i < g->forms.count; i++) {
        const gpuc_kernel_form *f = g->forms.at[i];
        gpuc_opencl_entry *e = &entries[f->kernel];
        if (i > 0) e->text = NULL;
        e->name = kernels[first].meta.name;
        e->num_values = g->num_arguments;
        e->values = gpuc_codegen_group_values(ctx, g, f);
    }
}

void gpuc_opencl_share(gpuc_ctx *ctx, int n, const gpuc_kernel_code *kernels, gpuc_opencl_entry *entries)
{
    gpuc_ptrs forms = {0};
    int *max = gpuc_new_array(ctx, int, n);
    for (int i = 0; i < n; i++) {
        gpuc_ptrs_push(ctx, &forms, form_of(ctx, i, &kernels[i]));
        max[i] = MAX_VALUES;
    }
    gpuc_ptrs groups = gpuc_codegen_group(ctx, &forms, max);
    for (size_t i = 0; i < groups.count; i++) share(ctx, kernels, groups.at[i], entries);
}
