/* SPDX-License-Identifier: Apache-2.0 */
/* Verifies, evaluates, writes and reads size expressions: postfix code over int64 whose overflow is an
 * error. */
#include "abi/expr.h"

#include "abi/check.h"
#include "base/size.h"

static const uint8_t num_operands[GPUC_XOP_COUNT] = {
    [GPUC_XOP_CONST] = 0, [GPUC_XOP_DIM] = 0,      [GPUC_XOP_ADD] = 2,      [GPUC_XOP_SUB] = 2,
    [GPUC_XOP_MUL] = 2,   [GPUC_XOP_FLOORDIV] = 2, [GPUC_XOP_FLOORMOD] = 2, [GPUC_XOP_MIN] = 2,
    [GPUC_XOP_MAX] = 2,   [GPUC_XOP_EQ] = 2,       [GPUC_XOP_LT] = 2,       [GPUC_XOP_LE] = 2,
    [GPUC_XOP_AND] = 2,   [GPUC_XOP_OR] = 2,       [GPUC_XOP_NOT] = 1,      [GPUC_XOP_SELECT] = 3,
};

gpuc_status gpuc_abi_xexpr_verify(gpuc_xexpr e, uint32_t num_symbols)
{
    uint32_t depth = 0;
    for (uint32_t i = 0; i < e.count; i++) {
        gpuc_xop op = e.code[i].op;
        if ((unsigned)op >= GPUC_XOP_COUNT)
            return gpuc_fail(GPUC_INVALID_DATA,
                             "size expression: instruction %u has the unknown operation %u", i, (unsigned)op);
        if (op == GPUC_XOP_DIM && (e.code[i].value < 0 || e.code[i].value >= num_symbols))
            return gpuc_fail(GPUC_INVALID_DATA, "size expression: symbol %lld of %u",
                             (long long)e.code[i].value, num_symbols);
        if (depth < num_operands[op])
            return gpuc_fail(GPUC_INVALID_DATA, "size expression: instruction %u lacks an operand", i);
        depth += 1u - num_operands[op];
        if (depth > GPUC_XEXPR_MAX_STACK)
            return gpuc_fail(GPUC_INVALID_DATA, "size expression: more than %d operands are open at once",
                             GPUC_XEXPR_MAX_STACK);
    }
    if (e.count > 0 && depth != 1)
        return gpuc_fail(GPUC_INVALID_DATA, "size expression: it leaves %u results instead of one", depth);
    return NULL;
}

/* A failure sticks to the value, so that an operand which select, && or || do not take is not
 * an error: select(n == 0, 0, m // n). */
typedef struct operand {
    int64_t v;
    const char *error; /* NULL: v holds */
} operand;

static operand apply_binary(gpuc_xop op, operand a, operand b)
{
    if (op == GPUC_XOP_AND && !a.error && a.v == 0) return (operand){.v = 0};
    if (op == GPUC_XOP_OR && !a.error && a.v != 0) return (operand){.v = 1};
    if (a.error) return a;
    if (b.error) return b;
    operand r = {0};
    bool ok = true;
    switch (op) {
    case GPUC_XOP_ADD: ok = gpuc_i64_add(a.v, b.v, &r.v); break;
    case GPUC_XOP_SUB: ok = gpuc_i64_sub(a.v, b.v, &r.v); break;
    case GPUC_XOP_MUL: ok = gpuc_i64_mul(a.v, b.v, &r.v); break;
    case GPUC_XOP_FLOORDIV:
        if (b.v == 0) return (operand){.error = "a division by zero"};
        ok = !(a.v == INT64_MIN && b.v == -1);
        if (ok) r.v = gpuc_floordiv(a.v, b.v);
        break;
    case GPUC_XOP_FLOORMOD:
        if (b.v == 0) return (operand){.error = "a remainder by zero"};
        r.v = b.v == -1 ? 0 : gpuc_floormod(a.v, b.v);
        break;
    case GPUC_XOP_MIN: r.v = a.v < b.v ? a.v : b.v; break;
    case GPUC_XOP_MAX: r.v = a.v > b.v ? a.v : b.v; break;
    case GPUC_XOP_EQ: r.v = a.v == b.v; break;
    case GPUC_XOP_LT: r.v = a.v < b.v; break;
    case GPUC_XOP_LE: r.v = a.v <= b.v; break;
    case GPUC_XOP_AND: r.v = b.v != 0; break;
    case GPUC_XOP_OR: r.v = b.v != 0; break;
    case GPUC_XOP_CONST:
    case GPUC_XOP_DIM:
    case GPUC_XOP_NOT:
    case GPUC_XOP_SELECT:
    case GPUC_XOP_COUNT: break;
    }
    if (!ok) r.error = "a result that exceeds 64 bits";
    return r;
}

static gpuc_status eval_error(gpuc_xexpr e, const char *reason)
{
    gpuc_buf text;
    gpuc_buf_init(&text, (gpuc_allocator){0});
    gpuc_abi_xexpr_print(&text, e, NULL);
    gpuc_status status =
        gpuc_fail(GPUC_INVALID_ARGUMENT, "the size expression %s has %s for these input shapes",
                  gpuc_buf_cstr(&text), reason);
    gpuc_buf_deinit(&text);
    return status;
}

static bool eval(gpuc_xexpr e, const int64_t *symbols, uint32_t num_symbols, operand *out)
{
    operand stack[GPUC_XEXPR_MAX_STACK];
    uint32_t depth = 0;
    *out = (operand){0};
    if (e.count == 0) return true;
    for (uint32_t i = 0; i < e.count; i++) {
        const gpuc_xinstr *x = &e.code[i];
        if ((unsigned)x->op >= GPUC_XOP_COUNT || depth < num_operands[x->op]) return false;
        depth -= num_operands[x->op];
        if (depth == GPUC_XEXPR_MAX_STACK) return false;
        operand *top = &stack[depth++];
        if (x->op == GPUC_XOP_CONST) {
            *top = (operand){.v = x->value};
        } else if (x->op == GPUC_XOP_DIM) {
            if (x->value < 0 || x->value >= num_symbols) return false;
            *top = (operand){.v = symbols[x->value]};
        } else if (x->op == GPUC_XOP_NOT) {
            top->v = !top->v;
        } else if (x->op == GPUC_XOP_SELECT) {
            if (!top[0].error) *top = top[0].v ? top[1] : top[2];
        } else {
            *top = apply_binary(x->op, top[0], top[1]);
        }
    }
    *out = stack[0];
    return depth == 1;
}

gpuc_status gpuc_abi_xexpr_eval(gpuc_xexpr e, const int64_t *symbols, uint32_t num_symbols, int64_t *out)
{
    operand result;
    *out = 0;
    if (e.count == 1) { /* most are a number or a symbol */
        int64_t value = e.code->value;
        bool is_symbol = e.code->op == GPUC_XOP_DIM && value >= 0 && value < num_symbols;
        if (is_symbol || e.code->op == GPUC_XOP_CONST) {
            *out = is_symbol ? symbols[value] : value;
            return NULL;
        }
    }
    if (!eval(e, symbols, num_symbols, &result)) {
        GPUC_TRY(gpuc_abi_xexpr_verify(e, num_symbols));
        return gpuc_fail(GPUC_INTERNAL, "a sound size expression did not evaluate");
    }
    if (result.error) return eval_error(e, result.error);
    *out = result.v;
    return NULL;
}

bool gpuc_abi_xexpr_is_const(gpuc_xexpr e, int64_t *out)
{
    operand result;
    *out = 0;
    for (uint32_t i = 0; i < e.count; i++)
        if (e.code[i].op == GPUC_XOP_DIM) return false;
    if (!eval(e, NULL, 0, &result) || result.error) return false;
    *out = result.v;
    return true;
}

static bool has_value(gpuc_xop op)
{
    return op == GPUC_XOP_CONST || op == GPUC_XOP_DIM;
}

void gpuc_abi_xexpr_write(gpuc_buf *buf, gpuc_xexpr e)
{
    gpuc_buf_u32(buf, e.count);
    for (uint32_t i = 0; i < e.count; i++) {
        gpuc_buf_u8(buf, (uint8_t)e.code[i].op);
        if (has_value(e.code[i].op)) gpuc_buf_i64(buf, e.code[i].value);
    }
}

gpuc_status gpuc_abi_xexpr_read(gpuc_reader *r, gpuc_arena *arena, uint32_t num_symbols, gpuc_xexpr *out)
{
    *out = (gpuc_xexpr){0};
    uint32_t count = gpuc_read_count(r, 1);
    GPUC_TRY(gpuc_abi_reader_status(r));
    gpuc_xinstr *code;
    GPUC_TRY(gpuc_abi_array(arena, count, sizeof *code, &code));
    for (uint32_t i = 0; i < count; i++) {
        code[i].op = (gpuc_xop)gpuc_read_u8(r);
        if (has_value(code[i].op)) code[i].value = gpuc_read_i64(r);
    }
    GPUC_TRY(gpuc_abi_reader_status(r));
    gpuc_xexpr e = {.code = code, .count = count};
    GPUC_TRY(gpuc_abi_xexpr_verify(e, num_symbols));
    *out = e;
    return NULL;
}
