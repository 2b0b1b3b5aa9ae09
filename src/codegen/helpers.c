/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the helper functions that generated source calls, and writes their definitions from templates. */
#include "codegen/helpers.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "codegen/clike.h"

void gpuc_codegen_helpers_scan(const char *p, void (*visit)(const char *, size_t, void *), void *arg)
{
    while (*p) {
        if (p[0] == '/' && p[1] == '*') {
            const char *end = strstr(p + 2, "*/");
            if (!end) return;
            p = end + 2;
        } else if (*p == '"') {
            for (p++; *p && *p != '"'; p++)
                if (*p == '\\' && p[1]) p++;
            if (*p) p++;
        } else if (isalpha((unsigned char)*p) || *p == '_') {
            const char *start = p;
            while (isalnum((unsigned char)*p) || *p == '_') p++;
            visit(start, (size_t)(p - start), arg);
        } else if (isdigit((unsigned char)*p)) {
            while (isalnum((unsigned char)*p) || *p == '_' || *p == '.') p++;
        } else {
            p++;
        }
    }
}

typedef struct writer {
    gpuc_ctx *ctx;
    const gpuc_helper_lang *lang;
    gpuc_buf *out;
    gpuc_strmap done;
} writer;

typedef struct request {
    const char *name; /* whole */
    char row[32];
    gpuc_dtype to, from;
    bool has_from;
} request;

static bool parse_request(const char *name, request *r)
{
    *r = (request){.name = name};
    if (strncmp(name, "gpuc_", 5) != 0) return false;
    const char *row = name + 5, *under = strchr(row, '_');
    if (!under || under == row || (size_t)(under - row) >= sizeof r->row) return false;
    memcpy(r->row, row, (size_t)(under - row));
    const char *to = under + 1, *second = strchr(to, '_');
    r->has_from = second != NULL;
    if (!gpuc_clike_parse_suffix(to, second ? (size_t)(second - to) : strlen(to), &r->to)) return false;
    return !second || gpuc_clike_parse_suffix(second + 1, strlen(second + 1), &r->from);
}

static bool kind_fits(const char *pattern, gpuc_dtype t)
{
    gpuc_dtype exact;
    if (gpuc_clike_parse_suffix(pattern, strlen(pattern), &exact))
        return exact.code == t.code && exact.bits == t.bits;
    char letter = t.code == GPUC_DTYPE_INT    ? 'i'
                  : t.code == GPUC_DTYPE_UINT ? 'u'
                  : t.code == GPUC_DTYPE_BOOL ? 'b'
                                              : 'f';
    return strchr(pattern, letter) != NULL;
}

static bool row_fits(const gpuc_helper_row *row, const request *r, bool vector)
{
    return (row->both || row->vector == vector) && strcmp(row->name, r->row) == 0 &&
           kind_fits(row->to, r->to) && (row->from != NULL) == r->has_from &&
           (!row->from || kind_fits(row->from, r->from));
}

static const gpuc_helper_row *find_row(const gpuc_helper_lang *lang, const request *r, bool vector)
{
    for (size_t i = 0; i < lang->num_rows; i++)
        if (row_fits(&lang->rows[i], r, vector)) return &lang->rows[i];
    for (const gpuc_helper_row *row = gpuc_codegen_helper_shared; row->name; row++)
        if (row_fits(row, r, vector)) return row;
    return NULL;
}

/* A scalar function of the language for a row that has no template: "expf"; NULL: none. */
static const char *function_of(const gpuc_helper_lang *lang, const request *r)
{
    gpuc_tir_op op = gpuc_clike_row_op(r->row);
    return op == GPUC_TIR_OP_COUNT ? NULL : lang->clike->math(NULL, op, gpuc_dtype_with_lanes(r->to, 1));
}

/* ---- Templates ------------------------------------------------------------------------------------- */

static gpuc_dtype with_code(gpuc_dtype t, gpuc_dtype_code code)
{
    t.code = (uint8_t)code;
    return t;
}

static void put_type(writer *w, gpuc_buf *out, gpuc_dtype t, char what)
{
    if (what == 'U') t = with_code(t, GPUC_DTYPE_UINT);
    if (what == 'M') t = with_code(t, GPUC_DTYPE_INT);
    if (what == 'W') {
        t = with_code(t, GPUC_DTYPE_UINT);
        if (t.bits < 32) t.bits = 32;
    }
    if (what == 'E') t.lanes = 1;
    w->lang->type(out, t);
}

/* 2^(bits - 1) or 2^bits: exact in any float type that is asked for here. */
static void put_float_limit(gpuc_buf *out, gpuc_dtype t, gpuc_dtype as, bool high)
{
    bool is_signed = t.code == GPUC_DTYPE_INT;
    double edge =
        is_signed ? (double)(UINT64_C(1) << (t.bits - 1)) : 2.0 * (double)(UINT64_C(1) << (t.bits - 1));
    gpuc_buf_printf(out, "%s%.1f%s", high ? "" : "-", high || is_signed ? edge : 0.0,
                    as.bits == 64 ? "" : "f");
}

static bool starts(const char *p, const char *word)
{
    return strncmp(p, word, strlen(word)) == 0;
}

static void expand(writer *w, gpuc_buf *out, const request *r, const char *p)
{
    char suffix[16];
    for (; *p; p++) {
        if (*p != '$') {
            gpuc_buf_bytes(out, p, 1);
        } else if (starts(p, "$LO") || starts(p, "$HI")) {
            put_float_limit(out, r->to, r->from, p[1] == 'H');
            p += 2;
        } else if (p[1] == '<') {
            size_t length = strcspn(p + 2, ">");
            gpuc_dtype fixed;
            GPUC_CHECK(gpuc_clike_parse_suffix(p + 2, length, &fixed));
            w->lang->type(out, fixed);
            p += length + 2;
        } else if (p[1] == '(') { /* $(text): once per lane, # is its number */
            const char *end = strstr(p, "$)");
            for (int lane = 0; lane < r->to.lanes; lane++) {
                if (lane) gpuc_buf_str(out, ", ");
                for (const char *c = p + 2; c < end; c++) {
                    if (*c == '#')
                        gpuc_buf_printf(out, "%d", lane);
                    else
                        gpuc_buf_bytes(out, c, 1);
                }
            }
            p = end + 1;
        } else {
            char what = *++p;
            if (what == 'F')
                put_type(w, out, r->from, 'F');
            else if (what == 'S')
                gpuc_buf_str(out, gpuc_clike_suffix(r->to, suffix));
            else if (what == 'e')
                gpuc_buf_str(out, gpuc_clike_suffix(gpuc_dtype_with_lanes(r->to, 1), suffix));
            else if (what == 'B')
                gpuc_buf_printf(out, "%d", r->to.bits);
            else if (what == 'N')
                gpuc_buf_printf(out, "%d", r->to.lanes);
            else
                put_type(w, out, r->to, what);
        }
    }
}

static void put_sig_type(writer *w, gpuc_buf *out, const request *r, char what)
{
    if (what == 'v') {
        gpuc_buf_str(out, "void ");
    } else if (what == 'w') {
        gpuc_buf_str(out, "const void *");
    } else if (what == 'H' || what == 'h') {
        gpuc_buf_printf(out, "%s__global half *", what == 'H' ? "const " : "");
    } else if (strchr("PQGL", what)) {
        gpuc_buf_str(out, what == 'P'   ? "const "
                          : what == 'G' ? "volatile __global "
                          : what == 'L' ? "volatile __local "
                                        : "");
        put_type(w, out, r->to, 'E');
        gpuc_buf_str(out, " *");
    } else {
        put_type(w, out, what == 'F' ? r->from : r->to, what);
        gpuc_buf_str(out, " ");
    }
}

static void put_head(writer *w, gpuc_buf *out, const request *r, const char *sig)
{
    gpuc_buf_str(out, w->lang->qualifier);
    put_sig_type(w, out, r, sig[0]);
    gpuc_buf_printf(out, "%s(", r->name);
    for (int i = 1; sig[i]; i++) {
        if (i > 1) gpuc_buf_str(out, ", ");
        put_sig_type(w, out, r, sig[i]);
        gpuc_buf_printf(out, "%c", 'a' + i - 1);
    }
    gpuc_buf_str(out, ")\n{\n");
}

/* The result of one lane of a vector row. */
static gpuc_dtype lane_result(const request *r, char what)
{
    return what == 'M' ? with_code(r->to, GPUC_DTYPE_INT) : r->to;
}

static void define_by_lanes(writer *w, gpuc_buf *out, const request *r)
{
    request one = *r;
    one.to.lanes = one.from.lanes = 1;
    const gpuc_helper_row *row = find_row(w->lang, &one, false);
    const char *function = row ? NULL : function_of(w->lang, r);
    const char *sig = row ? row->sig : NULL;
    char math_sig[5] = "T", name[64], a[16], b[16];
    if (!row) {
        gpuc_tir_op op = gpuc_clike_row_op(r->row);
        int arity = op == GPUC_TIR_OP_COUNT ? 1 : gpuc_tir_ops[op].arity;
        if (op != GPUC_TIR_OP_COUNT && gpuc_tir_ops[op].result == GPUC_TIR_BOOL) math_sig[0] = 'M';
        for (int i = 0; i < arity && i < 3; i++) math_sig[i + 1] = 'T';
        sig = math_sig;
    }
    if (!row && !function)
        gpuc_raise(w->ctx, GPUC_UNSUPPORTED,
                   "the generated source needs '%s', which the target's language lacks", r->name);
    if (row) {
        gpuc_clike_suffix(one.to, a);
        gpuc_clike_suffix(one.from, b);
        snprintf(name, sizeof name, r->has_from ? "gpuc_%s_%s_%s" : "gpuc_%s_%s", r->row, a, b);
        function = name;
    }
    put_head(w, out, r, sig);
    w->lang->lanes(out, lane_result(r, sig[0]), function, (int)strlen(sig) - 1);
    gpuc_buf_str(out, "}\n\n");
}

static void visit(const char *name, size_t length, void *arg);

static void free_buf(void *data)
{
    gpuc_buf_deinit(data);
}

static void write_helper(writer *w, const request *r)
{
    const gpuc_helper_row *row = find_row(w->lang, r, r->to.lanes > 1);
    if (!row && r->to.lanes == 1) {
        const char *function = function_of(w->lang, r);
        if (!function)
            gpuc_raise(w->ctx, GPUC_UNSUPPORTED,
                       "the generated source needs '%s', which the target's language lacks", r->name);
    }
    gpuc_buf *text = gpuc_new(w->ctx, gpuc_buf);
    gpuc_buf_init(text, w->ctx->allocator);
    gpuc_ctx_push_cleanup(w->ctx, free_buf, text);
    if (row) {
        put_head(w, text, r, row->sig);
        expand(w, text, r, row->body);
        gpuc_buf_str(text, "}\n\n");
    } else {
        define_by_lanes(w, text, r);
    }
    GPUC_RAISE_IF(w->ctx, gpuc_buf_status(text));
    gpuc_codegen_helpers_scan(gpuc_buf_cstr(text), visit, w);
    gpuc_buf_str(w->out, gpuc_buf_cstr(text));
    gpuc_ctx_pop_cleanup(w->ctx, true);
}

static void visit(const char *name, size_t length, void *arg)
{
    writer *w = arg;
    if (length < 6 || length > 60 || strncmp(name, "gpuc_", 5) != 0) return;
    char *copy = gpuc_ctx_alloc(w->ctx, length + 1);
    memcpy(copy, name, length);
    if (gpuc_strmap_has(&w->done, copy)) return;
    gpuc_strmap_set(&w->done, copy, w);
    request r;
    if (parse_request(copy, &r)) write_helper(w, &r);
}

void gpuc_codegen_helpers_write(gpuc_ctx *ctx, const gpuc_helper_lang *lang, int n, const char *const *texts,
                                gpuc_buf *out)
{
    writer w = {.ctx = ctx, .lang = lang, .out = out};
    gpuc_strmap_init(&w.done, ctx);
    for (int i = 0; i < n; i++) gpuc_codegen_helpers_scan(texts[i], visit, &w);
}
