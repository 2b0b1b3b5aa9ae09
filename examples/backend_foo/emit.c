/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions of loop IR as foo's instructions. Vectors wider than an instruction are computed part by part. */
#include <string.h>

#include "emit.h"

/* ---- Instructions ---- */

static foo_value result(foo_emitter *g, const foo_value *to, foo_type type, uint32_t lanes, bool stays)
{
    if (to) return (foo_value){to->cell, (uint8_t)lanes, type, false};
    return foo_new_value(g, type, lanes, stays);
}

static foo_value operate(foo_emitter *g, foo_op op, foo_value to, foo_type type, uint16_t a, uint16_t b,
                         uint16_t c, int flags)
{
    foo_emit(g, (foo_instr){.op = (uint8_t)op,
                            .type = (uint8_t)type,
                            .lanes = to.lanes,
                            .flags = (uint8_t)flags,
                            .dst = to.cell,
                            .a = a,
                            .b = b,
                            .c = c});
    return to;
}

static foo_value constant(foo_emitter *g, const foo_value *to, foo_type type, uint64_t bits)
{
    foo_value v = result(g, to, type, 1, true);
    foo_emit(g, (foo_instr){.op = FOO_CONST,
                            .type = (uint8_t)type,
                            .dst = v.cell,
                            .a = (uint16_t)(bits >> 32),
                            .b = (uint16_t)(bits >> 48),
                            .imm = (int32_t)(uint32_t)bits});
    return v;
}

static foo_value float_constant(foo_emitter *g, const foo_value *to, foo_type type, double f)
{
    uint64_t bits = 0;
    float narrow = (float)f;
    if (type == FOO_F32)
        memcpy(&bits, &narrow, sizeof narrow);
    else
        memcpy(&bits, &f, sizeof f);
    return constant(g, to, type, bits);
}

static uint32_t lanes_of_part(const foo_emitter *g, gpuc_dtype t)
{
    return t.lanes < g->lanes ? t.lanes : g->lanes;
}

/* ---- Memory ---- */

static bool is_int(gpuc_expr e, int64_t *out)
{
    return gpuc_expr_is_int(e, out) && gpuc_expr_dtype(e).lanes == 1;
}

bool foo_constant_index(gpuc_expr index, int64_t *out_first)
{
    gpuc_tir_expr_info i = gpuc_tir_expr_get(index);
    int64_t stride;
    if (i.kind != GPUC_EXPR_RAMP) return is_int(index, out_first);
    return is_int(i.operands[1], &stride) && stride == 1 && is_int(i.operands[0], out_first);
}

/* Cuts a constant off a scalar index: base + *imm. */
static gpuc_expr cut_constant(gpuc_expr index, int32_t *imm)
{
    gpuc_tir_expr_info i = gpuc_tir_expr_get(index);
    int64_t c;
    bool plus = i.kind == GPUC_EXPR_OP && strcmp(i.name, "+") == 0,
         minus = i.kind == GPUC_EXPR_OP && strcmp(i.name, "-") == 0;
    if (!(plus || minus) || !is_int(i.operands[1], &c) || c < -(INT32_MAX / 4) || c > INT32_MAX / 4)
        return index;
    *imm += (int32_t)(minus ? -c : c);
    return i.operands[0];
}

/* A LOAD or STORE of one part, from or to v. */
static void access(foo_emitter *g, foo_op op, const foo_place *p, gpuc_expr index, uint32_t part, foo_value v)
{
    gpuc_tir_expr_info i = gpuc_tir_expr_get(index);
    foo_instr n = {.op = (uint8_t)op,
                   .type = foo_type_cells(p->type) == 2 ? FOO_I64 : FOO_I32,
                   .lanes = v.lanes,
                   .dst = v.cell};
    int64_t stride = 1, first;
    bool ramp = i.kind == GPUC_EXPR_RAMP && is_int(i.operands[1], &stride) && stride >= -(1 << 16) &&
                stride <= 1 << 16;
    gpuc_expr start = ramp ? i.operands[0] : index;
    n.b = (uint16_t)p->at;
    if (ramp || i.dtype.lanes == 1) {
        n.flags = stride == 1 ? FOO_SIDE_BY_SIDE : FOO_STRIDED;
        n.imm = (int32_t)(stride * part * g->lanes);
        start = cut_constant(start, &n.imm);
    } else {
        n.flags = FOO_GATHERED;
    }
    foo_type type = foo_type_of(g, gpuc_expr_dtype(start));
    if (foo_type_cells(type) == 2) n.flags |= FOO_INDEX64;
    if (n.flags & FOO_STRIDED) n.c = foo_expr(g, i.operands[1], 0).cell;
    if (is_int(start, &first) && first >= 0 && first <= INT32_MAX / 4 && n.imm >= 0) {
        n.imm += (int32_t)first;
        start = gpuc_imm_int(g->ctx, gpuc_expr_dtype(start), 0);
    }
    n.a = foo_expr(g, start, n.flags & FOO_GATHERED ? part : 0).cell;
    foo_emit(g, n);
}

static uint16_t cell_of(foo_emitter *g, const foo_place *p, gpuc_expr index, uint32_t part)
{
    int64_t first = 0;
    foo_constant_index(index, &first);
    return (uint16_t)(p->at + ((uint32_t)first + part * g->lanes) * foo_type_cells(p->type));
}

static foo_value load(foo_emitter *g, const gpuc_tir_expr_info *e, uint32_t part, const foo_value *to)
{
    const foo_place *p = foo_place_of(g, e->buffer);
    uint32_t lanes = lanes_of_part(g, e->dtype);
    if (!p->in_cells) {
        foo_value v = result(g, to, p->type, lanes, false);
        access(g, FOO_LOAD, p, e->operands[0], part, v);
        return v;
    }
    foo_value v = {cell_of(g, p, e->operands[0], part), (uint8_t)lanes, p->type, false};
    return to ? operate(g, FOO_MOVE, *to, p->type, v.cell, 0, 0, 0) : v;
}

void foo_store_part(foo_emitter *g, const gpuc_tir_buffer *b, gpuc_expr index, uint32_t part, foo_value v)
{
    foo_place *p = foo_place_of(g, b);
    if (p->in_cells) {
        foo_value to = {cell_of(g, p, index, part), v.lanes, p->type, false};
        operate(g, FOO_MOVE, to, p->type, v.cell, 0, 0, 0);
        return;
    }
    access(g, FOO_STORE, p, index, part, v);
    p->version++;
    for (size_t i = 0; g->aliased && i < g->num_places; i++) g->places[i].version++;
}

/* ---- Operators ---- */

static const struct {
    const char *name;
    foo_op op;
    int operands;
    char types[8], gives[8];
} rows[] = {
#define FOO_OP(id, name, operands, types, result, value) {name, FOO_##id, operands, #types, #result},
#include "ops.def"
#undef FOO_OP
};

static const foo_value *narrowed(foo_emitter *g, gpuc_dtype t, foo_value *v)
{
    if (t.code != GPUC_DTYPE_BOOL && t.bits < 32 && !gpuc_dtype_is_float(t))
        operate(g, FOO_NARROW, *v, FOO_I32, v->cell, 0, 0, foo_format_of(g, t));
    return v;
}

/* c + a * b in one instruction, where a scalar need not become a vector. */
static bool fuse(foo_emitter *g, const gpuc_tir_expr_info *e, uint32_t part, const foo_value *to,
                 foo_value *out)
{
    foo_type t = foo_type_of(g, e->dtype);
    if (strcmp(e->name, "+") != 0 || !foo_type_is_float(t)) return false;
    for (int side = 1; side >= 0; side--) {
        gpuc_tir_expr_info mul = gpuc_tir_expr_get(e->operands[side]);
        if (mul.kind != GPUC_EXPR_OP || strcmp(mul.name, "*") != 0) continue;
        gpuc_expr a = mul.operands[0], b = mul.operands[1];
        if (gpuc_tir_expr_get(b).kind == GPUC_EXPR_BROADCAST) a = mul.operands[1], b = mul.operands[0];
        gpuc_tir_expr_info scalar = gpuc_tir_expr_get(a);
        bool splat = scalar.kind == GPUC_EXPR_BROADCAST;
        foo_value c = foo_expr(g, e->operands[1 - side], part), y = foo_expr(g, b, part);
        foo_value x = splat ? foo_expr(g, scalar.operands[0], 0) : foo_expr(g, a, part);
        *out = operate(g, splat ? FOO_FMAS : FOO_FMA, result(g, to, t, c.lanes, false), t, x.cell, y.cell,
                       c.cell, 0);
        return true;
    }
    return false;
}

/* Only one arm is computed. */
static foo_value choose(foo_emitter *g, const gpuc_tir_expr_info *e, uint32_t part, const foo_value *to)
{
    gpuc_tir_expr_info cond = gpuc_tir_expr_get(e->operands[0]);
    if (e->dtype.lanes > 1 && cond.kind != GPUC_EXPR_BROADCAST) foo_refuse(g, "a vector of", e->name);
    foo_value c = foo_expr(g, e->dtype.lanes > 1 ? cond.operands[0] : e->operands[0], 0);
    foo_value v = result(g, to, foo_type_of(g, e->dtype), lanes_of_part(g, e->dtype), false);
    size_t skip = foo_emit(g, (foo_instr){.op = FOO_UNLESS, .type = FOO_I32, .a = c.cell}),
           known = g->num_known;
    foo_expr_into(g, e->operands[1], part, v);
    foo_forget(g, known);
    size_t end = foo_emit(g, (foo_instr){.op = FOO_JUMP, .type = FOO_I32});
    g->kernel.code[skip].imm = (int32_t)g->kernel.num_code;
    foo_expr_into(g, e->operands[2], part, v);
    foo_forget(g, known);
    g->kernel.code[end].imm = (int32_t)g->kernel.num_code;
    return v;
}

static foo_value operator_of(foo_emitter *g, const gpuc_tir_expr_info *e, uint32_t part, const foo_value *to)
{
    if (strcmp(e->name, "if_then_else") == 0) return choose(g, e, part, to);
    foo_value v[3] = {{0}};
    if (fuse(g, e, part, to, &v[0])) return v[0];
    bool stays = !to && e->dtype.lanes == 1;
    for (int i = 0; i < e->num_operands; i++) {
        v[i] = foo_expr(g, e->operands[i], part);
        stays &= v[i].stays;
    }
    if (strcmp(e->name, "select") == 0)
        return operate(g, FOO_SELECT, result(g, to, v[1].type, v[1].lanes, stays), v[1].type, v[0].cell,
                       v[1].cell, v[2].cell, 0);
    bool logic = gpuc_expr_dtype(e->operands[0]).code == GPUC_DTYPE_BOOL;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const char *types = rows[r].types;
        bool fits = logic && strcmp(types, "BOOL") == 0;
        fits |= strcmp(types, "NUM") == 0 || strcmp(types, foo_type_is_float(v[0].type) ? "FLT" : "INT") == 0;
        if (!fits || rows[r].operands != e->num_operands || strcmp(rows[r].name, e->name) != 0) continue;
        bool gives_bool = strcmp(rows[r].gives, "BOOL") == 0;
        foo_value out = result(g, to, gives_bool ? FOO_I32 : v[0].type, v[0].lanes, stays);
        operate(g, rows[r].op, out, v[0].type, v[0].cell, v[1].cell, 0, 0);
        return *narrowed(g, e->dtype, &out);
    }
    foo_refuse(g, "the operator", e->name);
}

static foo_value cast(foo_emitter *g, const gpuc_tir_expr_info *e, uint32_t part, const foo_value *to)
{
    foo_value a = foo_expr(g, e->operands[0], part);
    foo_type t = foo_type_of(g, e->dtype);
    bool stays = !to && a.stays && a.lanes == 1, from_float = foo_type_is_float(a.type);
    if (e->dtype.code == GPUC_DTYPE_BOOL) {
        foo_value zero = from_float ? float_constant(g, NULL, a.type, 0) : constant(g, NULL, a.type, 0);
        if (a.lanes > 1)
            zero =
                operate(g, FOO_SPLAT, foo_new_value(g, a.type, a.lanes, false), a.type, zero.cell, 0, 0, 0);
        return operate(g, FOO_NE, result(g, to, FOO_I32, a.lanes, stays), a.type, a.cell, zero.cell, 0, 0);
    }
    foo_value v = operate(g, FOO_CAST, result(g, to, t, a.lanes, stays), t, a.cell, 0, 0, a.type);
    bool small = t == FOO_I32 && e->dtype.bits < 32;
    if (small)
        operate(g, from_float ? FOO_CLAMP : FOO_NARROW, v, FOO_I32, v.cell, 0, 0, foo_format_of(g, e->dtype));
    return v;
}

/* ---- Vectors ---- */

/* The start of a part: start + stride * lanes * part. */
static foo_value ramp(foo_emitter *g, const gpuc_tir_expr_info *e, uint32_t part, const foo_value *to)
{
    gpuc_expr start = e->operands[0], stride = e->operands[1];
    gpuc_expr before = gpuc_imm_int(g->ctx, gpuc_expr_dtype(stride), (int64_t)part * g->lanes);
    if (part) start = gpuc_add(g->ctx, start, gpuc_mul(g->ctx, stride, before));
    foo_value a = foo_expr(g, start, 0), b = foo_expr(g, stride, 0);
    return operate(g, FOO_RAMP, result(g, to, a.type, lanes_of_part(g, e->dtype), false), a.type, a.cell,
                   b.cell, 0, 0);
}

static foo_value broadcast(foo_emitter *g, const gpuc_tir_expr_info *e, const foo_value *to)
{
    foo_value a = foo_expr(g, e->operands[0], 0);
    int64_t i;
    bool stays =
        !to && (is_int(e->operands[0], &i) || gpuc_tir_expr_get(e->operands[0]).kind == GPUC_EXPR_FLOAT);
    return operate(g, FOO_SPLAT, result(g, to, a.type, lanes_of_part(g, e->dtype), stays), a.type, a.cell, 0,
                   0, 0);
}

static foo_value lane(foo_emitter *g, const gpuc_tir_expr_info *e)
{
    uint32_t number = (uint32_t)e->i;
    foo_value v = foo_expr(g, e->operands[0], number / g->lanes);
    uint32_t at = v.lanes > 1 ? number % g->lanes : 0;
    return (foo_value){(uint16_t)(v.cell + at * foo_type_cells(v.type)), 1, v.type, false};
}

static foo_value vector(foo_emitter *g, const gpuc_tir_expr_info *e, uint32_t part, const foo_value *to)
{
    foo_value v = result(g, to, foo_type_of(g, e->dtype), lanes_of_part(g, e->dtype), false);
    for (uint32_t i = 0; i < v.lanes; i++) {
        uint16_t cell = (uint16_t)(v.cell + i * foo_type_cells(v.type));
        foo_expr_into(g, e->operands[part * g->lanes + i], 0, (foo_value){cell, 1, v.type, false});
    }
    return v;
}

/* ---- Calls ---- */

static const char *atomic_operator(const char *call)
{
    static const char *const names[][2] = {{"atomic_add", "+"},    {"atomic_min", "min"},
                                           {"atomic_max", "max"},  {"atomic_and", "bitand"},
                                           {"atomic_or", "bitor"}, {"atomic_xor", "bitxor"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i][0], call) == 0) return names[i][1];
    return NULL;
}

/* A device runs one thing at a time: an atomic is a load, an operator and a store. */
static foo_value atomic(foo_emitter *g, const gpuc_tir_expr_info *e)
{
    const char *name = atomic_operator(e->name);
    foo_place *p = foo_place_of(g, e->buffer);
    foo_value old = foo_new_value(g, p->type, 1, false), v = foo_expr(g, e->operands[e->num_operands - 1], 0);
    access(g, FOO_LOAD, p, e->operands[0], 0, old);
    foo_value sum = foo_new_value(g, p->type, 1, false);
    if (strcmp(e->name, "atomic_cas") == 0) {
        foo_value expected = foo_expr(g, e->operands[1], 0), same = foo_new_value(g, FOO_I32, 1, false);
        operate(g, FOO_EQ, same, p->type, old.cell, expected.cell, 0, 0);
        operate(g, FOO_SELECT, sum, p->type, same.cell, v.cell, old.cell, 0);
    } else if (name) {
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
            bool fits = strcmp(rows[r].types, "NUM") == 0 ||
                        strcmp(rows[r].types, foo_type_is_float(p->type) ? "FLT" : "INT") == 0;
            if (fits && strcmp(rows[r].name, name) == 0)
                operate(g, rows[r].op, sum, p->type, old.cell, v.cell, 0, 0);
        }
    } else {
        sum = v; /* atomic_exchange */
    }
    foo_store_part(g, e->buffer, e->operands[0], 0, sum);
    return old;
}

static foo_value call(foo_emitter *g, const gpuc_tir_expr_info *e, uint32_t part, const foo_value *to)
{
    foo_value v;
    gpuc_dtype from = e->num_operands ? gpuc_expr_dtype(e->operands[0]) : e->dtype;
    bool same_size = from.bits == e->dtype.bits && from.lanes == e->dtype.lanes && from.bits >= 32;
    if (strcmp(e->name, "thread_decides") == 0) return constant(g, to, FOO_I32, 1);
    if (strcmp(e->name, "exact") == 0 || (strcmp(e->name, "reinterpret") == 0 && same_size))
        v = foo_expr(g, e->operands[0], part);
    else if (strncmp(e->name, "atomic_", 7) == 0 && e->dtype.lanes == 1)
        v = atomic(g, e);
    else
        foo_refuse(g, "the intrinsic", e->name);
    v.type = foo_type_of(g, e->dtype);
    return to ? operate(g, FOO_MOVE, *to, v.type, v.cell, 0, 0, 0) : v;
}

/* ---- Any expression ---- */

static const foo_known *find(foo_emitter *g, gpuc_expr e, uint32_t part, const gpuc_tir_expr_info *info)
{
    for (size_t n = g->hashes[(((uintptr_t)e >> 4) * 31 + part) % FOO_HASHES]; n; n = g->known[n - 1].next) {
        const foo_known *k = &g->known[n - 1];
        if (k->expr != e || k->part != part) continue;
        if (k->epoch && k->epoch != g->epoch) continue;
        if (k->statement && k->statement != g->statement) continue;
        if (k->version && k->version != foo_place_of(g, info->buffer)->version) continue;
        return k;
    }
    return NULL;
}

static foo_value compute(foo_emitter *g, const gpuc_tir_expr_info *e, uint32_t part, const foo_value *to)
{
    foo_value v;
    switch (e->kind) {
    case GPUC_EXPR_VAR: foo_refuse(g, "the variable", e->name);
    case GPUC_EXPR_INT: v = constant(g, to, foo_type_of(g, e->dtype), (uint64_t)e->i); return v;
    case GPUC_EXPR_FLOAT: return float_constant(g, to, foo_type_of(g, e->dtype), e->f);
    case GPUC_EXPR_CAST: return cast(g, e, part, to);
    case GPUC_EXPR_OP: return operator_of(g, e, part, to);
    case GPUC_EXPR_LOAD: return load(g, e, part, to);
    case GPUC_EXPR_RAMP: return ramp(g, e, part, to);
    case GPUC_EXPR_BROADCAST: return broadcast(g, e, to);
    case GPUC_EXPR_LANE: v = lane(g, e); return to ? operate(g, FOO_MOVE, *to, v.type, v.cell, 0, 0, 0) : v;
    case GPUC_EXPR_VECTOR: return vector(g, e, part, to);
    case GPUC_EXPR_CALL: return call(g, e, part, to);
    case GPUC_EXPR_READ:
    case GPUC_EXPR_REDUCE:
    case GPUC_EXPR_KIND_COUNT: break;
    }
    foo_refuse(g, "an expression that is not lowered:", e->name);
}

static foo_value expr(foo_emitter *g, gpuc_expr e, uint32_t part, const foo_value *to)
{
    gpuc_tir_expr_info info = gpuc_tir_expr_get(e);
    if (info.kind == GPUC_EXPR_BROADCAST) part = 0; /* all are equal */
    const foo_known *k = find(g, e, part, &info);
    if (k && to) return operate(g, FOO_MOVE, *to, k->value.type, k->value.cell, 0, 0, 0);
    if (k) return k->value;
    foo_value v = compute(g, &info, part, to);
    bool in_cells = info.kind == GPUC_EXPR_LOAD && foo_place_of(g, info.buffer)->in_cells;
    if (!to && !in_cells) foo_know(g, e, part, v);
    return v;
}

foo_value foo_expr(foo_emitter *g, gpuc_expr e, uint32_t part)
{
    return expr(g, e, part, NULL);
}

void foo_expr_into(foo_emitter *g, gpuc_expr e, uint32_t part, foo_value to)
{
    expr(g, e, part, &to);
}

void foo_hoist(foo_emitter *g, gpuc_expr e)
{
    gpuc_tir_expr_info i = gpuc_tir_expr_get(e);
    bool is_constant = i.kind == GPUC_EXPR_INT || i.kind == GPUC_EXPR_FLOAT;
    if (i.kind == GPUC_EXPR_BROADCAST) {
        gpuc_tir_expr_kind of = gpuc_tir_expr_get(i.operands[0]).kind;
        is_constant = of == GPUC_EXPR_INT || of == GPUC_EXPR_FLOAT;
    }
    if (!is_constant && (i.dtype.lanes > 1 || gpuc_dtype_is_float(i.dtype))) return;
    if (!is_constant && i.kind != GPUC_EXPR_OP && i.kind != GPUC_EXPR_CAST) return;
    if (strcmp(i.name, "if_then_else") == 0) return;
    for (int n = 0; !is_constant && n < i.num_operands; n++) {
        gpuc_tir_expr_info of = gpuc_tir_expr_get(i.operands[n]);
        const foo_known *k = find(g, i.operands[n], 0, &of);
        if (!k || !k->value.stays) return;
    }
    foo_expr(g, e, 0);
}
