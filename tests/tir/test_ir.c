/* SPDX-License-Identifier: Apache-2.0 */
/* Loop IR through the public headers: every node that the text form has is seen, and can be built. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include <gpuc/ir.h>

/* ---- A printer of our own, by what the functions that look give ---- */

typedef struct out {
    char text[4096];
    size_t size;
} out;

static void put(out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(out *o, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    o->size += (size_t)vsnprintf(o->text + o->size, sizeof o->text - o->size, fmt, args);
    va_end(args);
    assert_true(o->size < sizeof o->text);
}

static void put_expr(out *o, gpuc_expr e)
{
    static const char *const kinds[GPUC_EXPR_KIND_COUNT] = {
        [GPUC_EXPR_CAST] = "cast",           [GPUC_EXPR_LOAD] = "load", [GPUC_EXPR_RAMP] = "ramp",
        [GPUC_EXPR_BROADCAST] = "broadcast", [GPUC_EXPR_LANE] = "lane", [GPUC_EXPR_VECTOR] = "vector"};
    gpuc_tir_expr_info n = gpuc_tir_expr_get(e);
    char type[24];
    if (n.kind == GPUC_EXPR_INT) put(o, "%lld", (long long)n.i);
    if (n.kind == GPUC_EXPR_FLOAT) put(o, "%g", n.f);
    if (n.kind == GPUC_EXPR_VAR) put(o, "%s", n.name);
    if (n.num_operands == 0 && n.kind != GPUC_EXPR_CALL) return;
    put(o, "(%s", kinds[n.kind] ? kinds[n.kind] : n.name);
    if (n.kind == GPUC_EXPR_CAST) put(o, " %s", gpuc_dtype_name(n.dtype, type));
    if (n.kind == GPUC_EXPR_BROADCAST || n.kind == GPUC_EXPR_RAMP) put(o, " x%d", n.dtype.lanes);
    if (n.kind == GPUC_EXPR_LANE) put(o, " %lld", (long long)n.i);
    if (*n.function) put(o, " '%s'", n.function);
    if (n.buffer) put(o, " %s", gpuc_tir_buffer_get(n.buffer).name);
    for (int i = 0; i < n.num_operands; i++) {
        put(o, " ");
        put_expr(o, n.operands[i]);
    }
    put(o, ")");
}

static void put_head(out *o, const gpuc_tir_stmt_info *n)
{
    static const char *const loops[] = {"for", "parallel", "vectorized", "unrolled", "thread"};
    switch (n->kind) {
    case GPUC_STMT_FOR:
        put(o, "%s %s%s%s ", loops[n->loop], gpuc_tir_expr_get(n->var).name,
            *gpuc_thread_tag_name(n->tag) ? ":" : "", gpuc_thread_tag_name(n->tag));
        put_expr(o, n->min);
        put(o, " ");
        put_expr(o, n->extent);
        break;
    case GPUC_STMT_STORE:
        put(o, "store %s", gpuc_tir_buffer_get(n->buffer).name);
        for (int i = 0; i < n->num_index; i++) {
            put(o, " ");
            put_expr(o, n->index[i]);
        }
        put(o, " := ");
        put_expr(o, n->value);
        break;
    case GPUC_STMT_IF: put(o, "if "), put_expr(o, n->value); break;
    case GPUC_STMT_SEQ: put(o, "seq"); break;
    case GPUC_STMT_ALLOC:
        put(o, "alloc %s %s", gpuc_tir_buffer_get(n->buffer).name,
            gpuc_scope_name(gpuc_tir_buffer_get(n->buffer).scope));
        break;
    case GPUC_STMT_LET: put(o, "let %s ", gpuc_tir_expr_get(n->var).name), put_expr(o, n->value); break;
    case GPUC_STMT_EVAL: put(o, "eval "), put_expr(o, n->value); break;
    case GPUC_STMT_ATTR: put(o, "attr %s %s", n->key, n->text ? n->text : "-"); break;
    case GPUC_STMT_KIND_COUNT: fail();
    }
}

static void put_stmt(out *o, gpuc_stmt s, int indent)
{
    put(o, "%*s", indent, "");
    if (!s) {
        put(o, "nothing\n");
        return;
    }
    gpuc_tir_stmt_info n = gpuc_tir_stmt_get(s);
    put_head(o, &n);
    put(o, "\n");
    for (int i = 0; i < n.num_bodies; i++) put_stmt(o, n.bodies[i], indent + 1);
}

/* ---- A function by the builders ---- */

static gpuc_expr index_of(gpuc_ctx *ctx, const gpuc_tir_buffer *b, gpuc_expr i)
{
    return gpuc_tir_load(ctx, b, 1, &i);
}

static gpuc_tir_func *make(gpuc_ctx *ctx)
{
    gpuc_expr n = gpuc_var(ctx, "n", GPUC_INT64), i = gpuc_var(ctx, "i", GPUC_INT64),
              j = gpuc_var(ctx, "j", GPUC_INT64), t = gpuc_var(ctx, "t", GPUC_FLOAT32);
    gpuc_tir_buffer *a = gpuc_tir_buffer_make(ctx, "A", GPUC_FLOAT32, 1, &n, GPUC_SCOPE_GLOBAL);
    gpuc_tir_buffer *b = gpuc_tir_buffer_make(ctx, "B", GPUC_FLOAT32, 1, &n, GPUC_SCOPE_GLOBAL);
    gpuc_expr four = gpuc_int(ctx, 4), zero = gpuc_int(ctx, 0);
    gpuc_tir_buffer *row = gpuc_tir_buffer_make(ctx, "row", GPUC_FLOAT32, 1, &four, GPUC_SCOPE_LOCAL);
    gpuc_expr vector = gpuc_tir_ramp(ctx, zero, gpuc_int(ctx, 1), 4);
    gpuc_expr x = index_of(ctx, a, i);
    gpuc_stmt fill = gpuc_tir_store(
        ctx, row, 1, &vector,
        gpuc_tir_vector(
            ctx, 4, (gpuc_expr[]){x, gpuc_imm(ctx, GPUC_FLOAT32, 2), x, gpuc_cast(ctx, GPUC_FLOAT32, n)}));
    gpuc_expr lane = gpuc_tir_lane(ctx, gpuc_tir_load(ctx, row, 1, &vector), 3);
    gpuc_stmt use = gpuc_tir_let(ctx, t, gpuc_call1(ctx, "exp", lane), gpuc_tir_store(ctx, b, 1, &i, t));
    gpuc_stmt atomic = gpuc_tir_eval(
        ctx, gpuc_tir_intrinsic(ctx, GPUC_FLOAT32, "atomic_add", NULL, b, 2, (gpuc_expr[]){j, t}));
    gpuc_stmt noted = gpuc_tir_attr(ctx, "pragma", "note", NULL, NULL,
                                    gpuc_tir_let(ctx, t, index_of(ctx, row, zero), atomic));
    gpuc_stmt inner = gpuc_tir_seq(
        ctx, 3,
        (gpuc_stmt[]){fill, use,
                      gpuc_tir_for_(ctx, j, zero, four, GPUC_LOOP_UNROLLED, GPUC_THREAD_NONE, noted)});
    gpuc_stmt guarded = gpuc_tir_if_(ctx, gpuc_lt(ctx, i, gpuc_sub(ctx, n, four)),
                                     gpuc_tir_alloc(ctx, row, inner), gpuc_tir_store(ctx, b, 1, &i, x));
    gpuc_stmt loop = gpuc_tir_for_(ctx, i, zero, n, GPUC_LOOP_THREAD, GPUC_BLOCK_X, guarded);
    return gpuc_tir_func_make(ctx, "f", 2, (gpuc_tir_buffer *[]){a, b}, 1, &n, loop);
}

static const char wanted[] =
    "thread i:blockIdx.x 0 n\n"
    " if (< i (+ n -4))\n"
    "  alloc row local\n"
    "   seq\n"
    "    store row (ramp x4 0 1) := (vector (load A i) 2 (load A i) (cast float32 n))\n"
    "    let t (exp (lane 3 (load row (ramp x4 0 1))))\n"
    "     store B i := t\n"
    "    unrolled j 0 4\n"
    "     attr pragma note\n"
    "      let t (load row 0)\n"
    "       eval (atomic_add B j t)\n"
    "  store B i := (load A i)\n";

static bool count_loads(gpuc_expr e, void *count)
{
    if (gpuc_tir_expr_get(e).kind == GPUC_EXPR_LOAD) ++*(int *)count;
    return true;
}

static void built(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_tir_func *f = make(ctx);
    gpuc_tir_func_info info = gpuc_tir_func_get(f);
    out o = {.size = 0}, again = {.size = 0};
    put_stmt(&o, info.body, 0);
    assert_string_equal(o.text, wanted);
    assert_string_equal(info.name, "f");
    assert_int_equal(info.stage, GPUC_TIR_STAGE_NESTED);
    assert_int_equal(info.num_buffers, 2);
    assert_int_equal(info.num_scalars, 1);
    assert_ptr_equal(gpuc_tir_buffer_get(info.buffers[0]).shape[0], info.scalars[0]);
    const char *text = gpuc_tir_text(ctx, f);
    gpuc_tir_func *parsed = gpuc_tir_parse(ctx, text, "the text");
    put_stmt(&again, gpuc_tir_func_get(parsed).body, 0);
    assert_string_equal(again.text, wanted);
    assert_string_equal(gpuc_tir_text(ctx, parsed), text);
    int loads = 0;
    gpuc_tir_visit_stmt(ctx, info.body, NULL, count_loads, &loads);
    assert_int_equal(loads, 3); /* each distinct one once */
}

static void in_ctx(void (*body)(gpuc_ctx *ctx, void *arg), const char *refusal)
{
    gpuc_ctx *ctx;
    assert_null(gpuc_ctx_create(NULL, &ctx));
    gpuc_status s = gpuc_ctx_protect(ctx, body, NULL);
    if (refusal && (!s || !strstr(gpuc_status_message(s), refusal)))
        fail_msg("%s; wanted %s", s ? gpuc_status_message(s) : "no error", refusal);
    if (!refusal && s) fail_msg("%s", gpuc_status_message(s));
    gpuc_status_release(s);
    gpuc_ctx_destroy(ctx);
}

static void test_built(void **state)
{
    (void)state;
    in_ctx(built, NULL);
}

/* ---- Bad input ---- */

static void bad_name(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_tir_func_make(ctx, "a b", 0, NULL, 0, NULL, NULL);
}

static void bad_buffer(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_tir_func_make(ctx, "f", 1, (gpuc_tir_buffer *[]){NULL}, 0, NULL, NULL);
}

static void bad_scalar(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr seven = gpuc_int(ctx, 7);
    gpuc_tir_func_make(ctx, "f", 0, NULL, 1, &seven, NULL);
}

static void unknown_buffer(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr four = gpuc_int(ctx, 4), zero = gpuc_int(ctx, 0);
    gpuc_tir_buffer *a = gpuc_tir_buffer_make(ctx, "A", GPUC_FLOAT32, 1, &four, GPUC_SCOPE_GLOBAL);
    gpuc_tir_func_make(ctx, "f", 0, NULL, 0, NULL,
                       gpuc_tir_store(ctx, a, 1, &zero, gpuc_imm(ctx, GPUC_FLOAT32, 1)));
}

static void bad_intrinsic(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_tir_intrinsic(ctx, GPUC_INT32, "barier", NULL, NULL, 0, NULL);
}

static void test_bad(void **state)
{
    (void)state;
    in_ctx(bad_name, "'a b' cannot name a function");
    in_ctx(bad_buffer, "a buffer is NULL");
    in_ctx(bad_scalar, "a scalar is no variable");
    in_ctx(unknown_buffer, "the loop IR of 'f' is not valid (1 complaint");
    in_ctx(bad_intrinsic, "no intrinsic 'barier'");
}

/* ---- What builders refuse ---- */

typedef struct wrong {
    int which;
} wrong;

static void build_wrong(gpuc_ctx *ctx, void *arg)
{
    gpuc_expr eight = gpuc_int(ctx, 8), x = gpuc_var(ctx, "x", GPUC_INDEX), none = NULL;
    gpuc_tir_buffer *b = gpuc_tir_buffer_make(ctx, "b", GPUC_FLOAT32, 1, &eight, GPUC_SCOPE_GLOBAL);
    gpuc_expr value = gpuc_imm(ctx, GPUC_FLOAT32, 1);
    gpuc_stmt store = gpuc_tir_store(ctx, b, 1, &x, value);
    switch (((wrong *)arg)->which) {
    case 0: gpuc_tir_buffer_make(ctx, "c", GPUC_FLOAT32, 1, NULL, GPUC_SCOPE_GLOBAL); break;
    case 1: gpuc_tir_buffer_make(ctx, "c", GPUC_FLOAT32, -1, &eight, GPUC_SCOPE_GLOBAL); break;
    case 2: gpuc_tir_buffer_make(ctx, "c", GPUC_FLOAT32, 1, &eight, (gpuc_scope)99); break;
    case 3: gpuc_tir_load(ctx, NULL, 1, &x); break;
    case 4: gpuc_tir_load(ctx, b, 1, NULL); break;
    case 5: gpuc_tir_store(ctx, b, 1, &none, value); break;
    case 6: gpuc_tir_vector(ctx, 2, NULL); break;
    case 7: gpuc_tir_intrinsic(ctx, GPUC_INT32, "exp", NULL, NULL, 1, NULL); break;
    case 8: gpuc_tir_seq(ctx, 2, NULL); break;
    case 9: gpuc_tir_eval(ctx, NULL); break;
    case 10: gpuc_tir_attr(ctx, NULL, NULL, NULL, NULL, store); break;
    case 11: gpuc_tir_alloc(ctx, NULL, store); break;
    case 12:
        gpuc_tir_for_(ctx, x, gpuc_int(ctx, 0), eight, (gpuc_loop_kind)9, GPUC_THREAD_NONE, store);
        break;
    default:
        gpuc_tir_for_(ctx, x, gpuc_int(ctx, 0), eight, GPUC_LOOP_THREAD, (gpuc_thread_tag)99, store);
        break;
    }
}

static void builders_refuse(void **state)
{
    (void)state;
    gpuc_ctx *ctx;
    assert_null(gpuc_ctx_create(NULL, &ctx));
    for (wrong w = {0}; w.which < 14; w.which++) {
        gpuc_status status = gpuc_ctx_protect(ctx, build_wrong, &w);
        if (gpuc_status_code(status) != GPUC_INVALID_ARGUMENT)
            fail_msg("case %d: %s", w.which, gpuc_status_message(status));
        gpuc_status_release(status);
    }
    gpuc_ctx_destroy(ctx);
    gpuc_scope scope;
    gpuc_thread_tag tag;
    assert_false(gpuc_scope_parse(NULL, &scope));
    assert_false(gpuc_thread_tag_parse(NULL, &tag));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_built), cmocka_unit_test(test_bad),
                                       cmocka_unit_test(builders_refuse)};
    return cmocka_run_group_tests_name("ir", tests, NULL, NULL);
}
