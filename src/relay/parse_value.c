/* SPDX-License-Identifier: Apache-2.0 */
/* Parses literals, attributes and references to constants. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/element.h"
#include "relay/parse.h"

/* ---- Numbers ---- */

/* Words that are numbers. */
typedef struct special {
    const char *text;
    double value;
    uint8_t bits;
} special;
static const special specials[] = {
    {"inff", (double)INFINITY, 32},
    {"inff16", (double)INFINITY, 16},
    {"inff64", (double)INFINITY, 64},
    {"nanf", (double)NAN, 32},
    {NULL, 0, 0},
};

bool gpuc_relay_parse_at_number(const gpuc_relay_parser *p)
{
    for (const special *s = specials; s->text; s++)
        if (gpuc_relay_parse_at(p, s->text)) return true;
    return p->token.kind == GPUC_RELAY_TOKEN_NUMBER;
}

typedef struct number {
    bool is_float;
    double f;
    int64_t i;
    gpuc_dtype type;
} number;

/* The suffix: f, f16, f64, i16, i64; none: an integer of 32 bits, of 64 where it does not fit, or a float. */
static void take_suffix(gpuc_relay_parser *p, const gpuc_relay_token *t, const char *suffix, number *n)
{
    const char *end = t->at + t->length;
    bool point = false;
    for (size_t i = 0; i < t->length; i++) point |= strchr(".eE", t->at[i]) != NULL;
    char *stop;
    n->is_float = suffix < end ? *suffix == 'f' : point;
    n->type = n->is_float ? GPUC_FLOAT32 : GPUC_INT32;
    if (suffix == end) return;
    long bits = suffix + 1 < end ? strtol(suffix + 1, &stop, 10) : 32;
    bool known = bits == 16 || bits == 32 || bits == 64 || (bits == 8 && *suffix == 'i');
    if ((*suffix != 'f' && *suffix != 'i') || (suffix + 1 < end && stop != end) || !known ||
        (*suffix == 'i' && point))
        gpuc_relay_parse_fail(p, t, "'%.*s' is not a number: write 1, 1i64, 1f or 1f64", (int)t->length,
                              t->at);
    n->type.bits = (uint8_t)bits;
}

static number read_number(gpuc_relay_parser *p, bool negative)
{
    gpuc_relay_token t = p->token;
    number n = {.is_float = true, .type = GPUC_FLOAT32};
    char *end;
    for (const special *s = specials; s->text; s++)
        if (gpuc_relay_parse_accept(p, s->text)) {
            n.type.bits = s->bits;
            n.f = negative ? -s->value : s->value;
            return n;
        }
    if (t.kind != GPUC_RELAY_TOKEN_NUMBER) gpuc_relay_parse_fail(p, &t, "a number is expected");
    char *text = gpuc_relay_parse_copy(p, &t, 0);
    n.f = strtod(text, &end);
    if (*text == '0' && (text[1] == 'x' || text[1] == 'X'))
        gpuc_relay_parse_fail(p, &t, "numbers are decimal");
    take_suffix(p, &t, t.at + (end - text), &n);
    if (n.is_float) {
        uint64_t stored = 0;
        gpuc_float_store(n.type, &stored, n.f);
        if (isinf(gpuc_float_load(n.type, &stored)))
            gpuc_relay_parse_fail(p, &t, "the number does not fit in %d bits: inff is infinite", n.type.bits);
    }
    if (negative) n.f = -n.f;
    if (!n.is_float) {
        errno = 0;
        unsigned long long v = strtoull(text, &end, 10);
        bool fits = errno == 0 && v <= (unsigned long long)INT64_MAX + negative;
        n.i = (int64_t)(negative ? 0 - v : v);
        if (end == text + t.length && (!fits || n.i > INT32_MAX || n.i < INT32_MIN)) n.type = GPUC_INT64;
        int64_t limit = n.type.bits < 64 ? (int64_t)1 << (n.type.bits - 1) : INT64_MAX;
        if (!fits || (n.type.bits < 64 && (n.i >= limit || n.i < -limit)))
            gpuc_relay_parse_fail(p, &t, "the integer does not fit in %d bits", n.type.bits);
    }
    gpuc_relay_parse_advance(p);
    return n;
}

gpuc_rexpr *gpuc_relay_parse_number(gpuc_relay_parser *p, bool negative)
{
    number n = read_number(p, negative);
    if (n.is_float) return gpuc_relay_const_scalar(p->ctx, n.type, n.f);
    return gpuc_relay_const_bytes(p->ctx, n.type, 0, NULL, &n.i); /* little-endian: the low bytes */
}

/* ---- Attributes ---- */

/* Entries of a list, with those of lists in it. */
typedef struct entries {
    gpuc_ptrs sizes;  /* gpuc_expr; NULL: a float */
    gpuc_ptrs floats; /* double * */
    bool any_float;
} entries;

static void add_entry(gpuc_relay_parser *p, entries *list, gpuc_expr size, double f)
{
    double *copy = gpuc_new(p->ctx, double);
    *copy = f;
    list->any_float |= !size;
    gpuc_ptrs_push(p->ctx, &list->sizes, size);
    gpuc_ptrs_push(p->ctx, &list->floats, copy);
}

static void parse_entries(gpuc_relay_parser *p, entries *list)
{
    const char *close = gpuc_relay_parse_accept(p, "[") ? "]" : ")";
    if (*close == ')') gpuc_relay_parse_expect(p, "(");
    gpuc_relay_parse_deeper(p, &p->inner_depth, GPUC_RELAY_TEXT_DEPTH);
    while (!gpuc_relay_parse_accept(p, close)) {
        gpuc_relay_lexer lexer = p->lexer;
        gpuc_relay_token token = p->token;
        bool negative = gpuc_relay_parse_accept(p, "-");
        bool is_number = gpuc_relay_parse_at_number(p);
        gpuc_relay_token after = gpuc_relay_parse_peek(p);
        if (is_number && after.kind == GPUC_RELAY_TOKEN_PUNCT && strchr(",])", *after.at)) {
            number n = read_number(p, negative);
            add_entry(p, list, n.is_float ? NULL : gpuc_int(p->ctx, n.i), n.is_float ? n.f : (double)n.i);
        } else {
            p->lexer = lexer;
            p->token = token;
            if (gpuc_relay_parse_at(p, "[") || (gpuc_relay_parse_at(p, "(") && *close == ')'))
                parse_entries(p, list);
            else
                add_entry(p, list, gpuc_relay_parse_dim(p), 0);
        }
        if (!gpuc_relay_parse_at(p, close)) gpuc_relay_parse_expect(p, ",");
    }
    p->inner_depth--;
}

static const gpuc_attrs *parse_list(gpuc_relay_parser *p, const gpuc_attrs *attrs, const char *name)
{
    entries list = {0};
    p->names = GPUC_RELAY_USES;
    parse_entries(p, &list);
    p->names = GPUC_RELAY_SAYS;
    int n = (int)list.sizes.count;
    if (!list.any_float) return gpuc_attrs_sizes(p->ctx, attrs, name, n, (const gpuc_expr *)list.sizes.at);
    double *floats = gpuc_new_array(p->ctx, double, n);
    for (int i = 0; i < n; i++) floats[i] = *(double *)list.floats.at[i];
    return gpuc_attrs_floats(p->ctx, attrs, name, n, floats);
}

static const gpuc_attrs *parse_attr(gpuc_relay_parser *p, const gpuc_attrs *attrs, const char *name)
{
    gpuc_relay_token at = p->token;
    if (at.kind == GPUC_RELAY_TOKEN_STRING)
        return gpuc_attrs_string(p->ctx, attrs, name, gpuc_relay_parse_string(p));
    if (gpuc_relay_parse_at(p, "[") || gpuc_relay_parse_at(p, "(")) return parse_list(p, attrs, name);
    if (at.kind == GPUC_RELAY_TOKEN_NAME && !gpuc_relay_parse_at_number(p)) {
        char *word = gpuc_relay_parse_word(p, "a value");
        if (!strcmp(word, "None") || !strcmp(word, "nullptr")) return attrs;
        if (!strcmp(word, "True") || !strcmp(word, "False"))
            return gpuc_attrs_int(p->ctx, attrs, name, *word == 'T');
        return gpuc_attrs_string(p->ctx, attrs, name, word);
    }
    number n = read_number(p, gpuc_relay_parse_accept(p, "-"));
    return n.is_float ? gpuc_attrs_float(p->ctx, attrs, name, n.f) : gpuc_attrs_int(p->ctx, attrs, name, n.i);
}

const gpuc_attrs *gpuc_relay_parse_attrs(gpuc_relay_parser *p)
{
    const gpuc_attrs *attrs = NULL;
    while (!gpuc_relay_parse_at(p, ")")) {
        gpuc_relay_token at = p->token;
        char *name = gpuc_relay_parse_word(p, "an attribute");
        if (gpuc_attrs_find(attrs, name))
            gpuc_relay_parse_fail(p, &at, "attribute '%s' is given twice", name);
        gpuc_relay_parse_expect(p, "=");
        attrs = parse_attr(p, attrs, name);
        if (!gpuc_relay_parse_at(p, ")")) gpuc_relay_parse_expect(p, ",");
    }
    return attrs;
}
