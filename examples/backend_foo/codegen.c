/* SPDX-License-Identifier: Apache-2.0 */
/* target.build.foo: kernels of loop IR to foo's code. This file has statements, cells and buffers; emit.c expressions. */
#include <stdlib.h>
#include <string.h>

#include "emit.h"

GPUC_NORETURN void foo_refuse(foo_emitter *g, const char *what, const char *name)
{
    gpuc_raise(g->ctx, GPUC_UNSUPPORTED, "foo: kernel '%s': %s '%s' is not supported; run it on the c target",
               g->kernel.name, what, name);
}

static void *grow(foo_emitter *g, void *array, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity) return array;
    size_t wanted = *capacity ? 2 * *capacity : 64;
    void *grown = realloc(array, wanted * size);
    if (!grown) gpuc_raise(g->ctx, GPUC_OUT_OF_MEMORY, "foo: out of memory for code");
    *capacity = wanted;
    return grown;
}

/* ---- Types ---- */

foo_type foo_type_of(foo_emitter *g, gpuc_dtype t)
{
    char name[24];
    switch ((gpuc_dtype_code)t.code) {
    case GPUC_DTYPE_BOOL: return FOO_I32;
    case GPUC_DTYPE_INT:
        if (t.bits <= 32) return FOO_I32;
        if (t.bits == 64) return FOO_I64;
        break;
    case GPUC_DTYPE_UINT:
        if (t.bits < 32) return FOO_I32;
        if (t.bits == 32) return FOO_U32;
        if (t.bits == 64) return FOO_U64;
        break;
    case GPUC_DTYPE_FLOAT:
        if (t.bits == 32) return FOO_F32;
        if (t.bits == 64) return FOO_F64;
        break;
    case GPUC_DTYPE_HANDLE:
    case GPUC_DTYPE_BFLOAT: break;
    }
    t.lanes = 1;
    foo_refuse(g, "the type", gpuc_dtype_name(t, name));
}

foo_format foo_format_of(foo_emitter *g, gpuc_dtype t)
{
    bool is_signed = t.code == GPUC_DTYPE_INT;
    if (foo_type_cells(foo_type_of(g, t)) == 2) return FOO_B64;
    return t.bits == 8    ? (is_signed ? FOO_S8 : FOO_U8)
           : t.bits == 16 ? (is_signed ? FOO_S16 : FOO_U16)
                          : FOO_B32;
}

uint32_t foo_num_parts(const foo_emitter *g, gpuc_dtype t)
{
    return (t.lanes + g->lanes - 1) / g->lanes;
}

/* ---- Code, cells, and what is known ---- */

size_t foo_emit(foo_emitter *g, foo_instr i)
{
    foo_kernel *k = &g->kernel;
    k->code = grow(g, k->code, k->num_code, &g->code_capacity, sizeof *k->code);
    if (!i.lanes) i.lanes = 1;
    k->code[k->num_code] = i;
    return k->num_code++;
}

foo_value foo_new_value(foo_emitter *g, foo_type type, uint32_t lanes, bool stays)
{
    uint32_t size = foo_type_cells(type), *next = stays ? &g->cells : &g->temporaries;
    uint32_t *max = stays ? &g->max_cells : &g->max_temporaries;
    uint32_t at = (*next + size - 1) / size * size;
    *next = at + size * lanes;
    if (*next > *max) *max = *next;
    if (*next >= FOO_TEMPORARY) foo_refuse(g, "a kernel that needs more cells than foo has:", g->kernel.name);
    return (foo_value){(uint16_t)(stays ? at : FOO_TEMPORARY + at), (uint8_t)lanes, type, stays};
}

static size_t hash_of(gpuc_expr e, uint32_t part)
{
    return (((uintptr_t)e >> 4) * 31 + part) % FOO_HASHES;
}

void foo_know(foo_emitter *g, gpuc_expr e, uint32_t part, foo_value v)
{
    size_t *first = &g->hashes[hash_of(e, part)];
    g->known = grow(g, g->known, g->num_known, &g->known_capacity, sizeof *g->known);
    g->known[g->num_known] = (foo_known){.expr = e, .part = part, .value = v, .next = *first};
    *first = ++g->num_known;
    foo_known *k = &g->known[g->num_known - 1];
    gpuc_tir_expr_info info = gpuc_tir_expr_get(e);
    if (v.stays) return;
    k->epoch = g->epoch;
    if (info.kind == GPUC_EXPR_LOAD)
        k->version = foo_place_of(g, info.buffer)->version;
    else
        k->statement = g->statement;
}

void foo_forget(foo_emitter *g, size_t n)
{
    for (; g->num_known > n; g->num_known--) {
        const foo_known *k = &g->known[g->num_known - 1];
        g->hashes[hash_of(k->expr, k->part)] = k->next;
    }
}

void foo_forget_temporaries(foo_emitter *g)
{
    g->temporaries = 0;
    g->epoch++;
}

/* ---- Buffers ---- */

foo_place *foo_place_of(foo_emitter *g, const gpuc_tir_buffer *b)
{
    for (size_t i = g->num_places; i-- > 0;)
        if (g->places[i].buffer == b) return &g->places[i];
    foo_refuse(g, "the buffer", gpuc_tir_buffer_get(b).name);
}

static foo_place *add_place(foo_emitter *g, const gpuc_tir_buffer *b)
{
    g->places = grow(g, g->places, g->num_places, &g->place_capacity, sizeof *g->places);
    g->places[g->num_places] =
        (foo_place){.buffer = b, .type = foo_type_of(g, gpuc_tir_buffer_get(b).dtype), .version = 1};
    return &g->places[g->num_places++];
}

static void add_store(foo_emitter *g, foo_place *p, uint32_t count)
{
    foo_kernel *k = &g->kernel;
    if (k->num_stores == FOO_MAX_STORES || count > FOO_MAX_LOCAL)
        foo_refuse(g, "the size of", gpuc_tir_buffer_get(p->buffer).name);
    k->stores = grow(g, k->stores, k->num_stores, &g->store_capacity, sizeof *k->stores);
    k->stores[k->num_stores] = (foo_store){foo_format_of(g, gpuc_tir_buffer_get(p->buffer).dtype), count};
    p->at = k->num_stores++;
}

/* Looks whether all accesses of a local buffer are to constant elements. */
typedef struct use {
    const gpuc_tir_buffer *buffer;
    int64_t count;
    bool constant;
} use;

static void look_at(use *u, const gpuc_tir_buffer *b, gpuc_expr index)
{
    int64_t first;
    if (b != u->buffer) return;
    u->constant &= index && foo_constant_index(index, &first) && first >= 0 &&
                   first + gpuc_expr_dtype(index).lanes <= u->count;
}

static bool on_access(gpuc_expr e, void *arg)
{
    gpuc_tir_expr_info i = gpuc_tir_expr_get(e);
    if (i.buffer) look_at(arg, i.buffer, i.kind == GPUC_EXPR_LOAD ? i.operands[0] : NULL);
    return true;
}

static void on_store(gpuc_stmt s, void *arg)
{
    gpuc_tir_stmt_info i = gpuc_tir_stmt_get(s);
    if (i.kind == GPUC_STMT_STORE) look_at(arg, i.buffer, i.index[0]);
}

static void place_local(foo_emitter *g, const gpuc_tir_stmt_info *s)
{
    enum { MAX_CELLS = 4096 };
    gpuc_tir_buffer_info b = gpuc_tir_buffer_get(s->buffer);
    use u = {.buffer = s->buffer, .count = 1, .constant = true};
    for (int i = 0; i < b.ndim; i++) {
        int64_t extent;
        if (!gpuc_expr_is_int(b.shape[i], &extent) || extent < 0 || extent > FOO_MAX_LOCAL)
            foo_refuse(g, "the size of", b.name);
        u.count *= extent;
        if (u.count > FOO_MAX_LOCAL) foo_refuse(g, "the size of", b.name);
    }
    foo_place *p = add_place(g, s->buffer);
    if (s->bodies[0]) gpuc_tir_visit_stmt(g->ctx, s->bodies[0], on_store, on_access, &u);
    p->in_cells =
        u.constant && foo_format_of(g, b.dtype) >= FOO_B32 && u.count * foo_type_cells(p->type) <= MAX_CELLS;
    if (p->in_cells)
        p->at = foo_new_value(g, p->type, (uint32_t)u.count, true).cell;
    else
        add_store(g, p, (uint32_t)u.count);
}

/* ---- Statements ---- */

static void emit_stmt(foo_emitter *g, gpuc_stmt s);

/* What is computed in a block is forgotten behind it, as its cells are. */
static void emit_block(foo_emitter *g, gpuc_stmt s)
{
    size_t known = g->num_known, places = g->num_places;
    uint32_t cells = g->cells;
    foo_forget_temporaries(g);
    if (s) emit_stmt(g, s);
    foo_forget_temporaries(g);
    foo_forget(g, known);
    g->num_places = places;
    g->cells = cells;
}

static void jump_here(foo_emitter *g, size_t from)
{
    g->kernel.code[from].imm = (int32_t)g->kernel.num_code;
}

/* A value that is there as long as the block is. */
static foo_value keep(foo_emitter *g, foo_value v)
{
    if (v.stays) return v;
    foo_value to = foo_new_value(g, v.type, v.lanes, true);
    foo_emit(g, (foo_instr){
                    .op = FOO_MOVE, .type = (uint8_t)v.type, .lanes = v.lanes, .dst = to.cell, .a = v.cell});
    return to;
}

static bool hoist(gpuc_expr e, void *arg)
{
    foo_hoist(arg, e);
    return true;
}

static void emit_for(foo_emitter *g, const gpuc_tir_stmt_info *s)
{
    if (s->loop == GPUC_LOOP_THREAD || s->loop == GPUC_LOOP_VECTORIZED)
        foo_refuse(g, "a loop that is bound or vectorized:", gpuc_tir_expr_get(s->var).name);
    int64_t zero;
    size_t known = g->num_known;
    uint32_t cells = g->cells;
    g->statement++;
    foo_value min = foo_expr(g, s->min, 0), var = foo_new_value(g, min.type, 1, true);
    bool from_0 = gpuc_expr_is_int(s->min, &zero) && zero == 0;
    foo_value end = keep(g, foo_expr(g, from_0 ? s->extent : gpuc_add(g->ctx, s->min, s->extent), 0));
    gpuc_tir_visit_stmt(g->ctx, s->bodies[0], NULL, hoist, g);
    foo_emit(g, (foo_instr){.op = FOO_MOVE, .type = (uint8_t)var.type, .dst = var.cell, .a = min.cell});
    size_t enter =
        foo_emit(g, (foo_instr){.op = FOO_ENTER, .type = (uint8_t)var.type, .dst = var.cell, .a = end.cell});
    size_t body = g->kernel.num_code;
    foo_know(g, s->var, 0, var);
    emit_block(g, s->bodies[0]);
    foo_emit(
        g,
        (foo_instr){
            .op = FOO_LOOP, .type = (uint8_t)var.type, .dst = var.cell, .a = end.cell, .imm = (int32_t)body});
    jump_here(g, enter);
    foo_forget(g, known);
    g->cells = cells;
}

static void emit_if(foo_emitter *g, const gpuc_tir_stmt_info *s)
{
    size_t skip =
        foo_emit(g, (foo_instr){.op = FOO_UNLESS, .type = FOO_I32, .a = foo_expr(g, s->value, 0).cell});
    emit_block(g, s->bodies[0]);
    if (s->bodies[1]) {
        size_t end = foo_emit(g, (foo_instr){.op = FOO_JUMP, .type = FOO_I32});
        jump_here(g, skip);
        emit_block(g, s->bodies[1]);
        jump_here(g, end);
    } else {
        jump_here(g, skip);
    }
}

static void bind_let(foo_emitter *g, const gpuc_tir_stmt_info *s)
{
    gpuc_dtype t = gpuc_expr_dtype(s->value);
    for (uint32_t part = 0; part < foo_num_parts(g, t); part++) {
        foo_value v;
        if (t.lanes == 1) {
            v = keep(g, foo_expr(g, s->value, part));
        } else {
            v = foo_new_value(g, foo_type_of(g, t), t.lanes < g->lanes ? t.lanes : g->lanes, true);
            foo_expr_into(g, s->value, part, v);
        }
        foo_know(g, s->var, part, v);
    }
}

/* Of a name: its body. */
static void emit_scope(foo_emitter *g, const gpuc_tir_stmt_info *s)
{
    size_t known = g->num_known, places = g->num_places;
    uint32_t cells = g->cells;
    if (s->kind == GPUC_STMT_LET)
        bind_let(g, s);
    else
        place_local(g, s);
    if (s->bodies[0]) emit_stmt(g, s->bodies[0]);
    foo_forget(g, known);
    g->num_places = places;
    g->cells = cells;
}

/* Looks for loads that a store of [first, first + lanes) must not be mixed with. */
typedef struct overlap {
    const gpuc_tir_buffer *buffer;
    int64_t first, lanes;
    bool shifted;
} overlap;

static bool find_overlap(gpuc_expr e, void *arg)
{
    overlap *o = arg;
    gpuc_tir_expr_info i = gpuc_tir_expr_get(e);
    int64_t first, lanes = i.dtype.lanes;
    if (i.kind == GPUC_EXPR_VECTOR) o->shifted = true; /* it is made piece by piece */
    if (i.kind != GPUC_EXPR_LOAD || i.buffer != o->buffer || !foo_constant_index(i.operands[0], &first))
        return true;
    bool apart = first + lanes <= o->first || o->first + o->lanes <= first,
         same = first == o->first && lanes == o->lanes;
    o->shifted |= !apart && !same;
    return true;
}

static void emit_store(foo_emitter *g, const gpuc_tir_stmt_info *s)
{
    gpuc_dtype t = gpuc_expr_dtype(s->value);
    foo_place *p = foo_place_of(g, s->buffer);
    uint32_t parts = foo_num_parts(g, t);
    overlap o = {.buffer = s->buffer, .lanes = t.lanes};
    if (p->in_cells && parts == 1) {
        foo_constant_index(s->index[0], &o.first);
        gpuc_tir_visit(g->ctx, s->value, find_overlap, &o);
        uint32_t cell = p->at + (uint32_t)o.first * foo_type_cells(p->type);
        if (!o.shifted) {
            foo_expr_into(g, s->value, 0, (foo_value){(uint16_t)cell, (uint8_t)t.lanes, p->type, false});
            return;
        }
    }
    foo_value *v = malloc(parts * sizeof *v);
    if (!v) gpuc_raise(g->ctx, GPUC_OUT_OF_MEMORY, "foo: out of memory for code");
    gpuc_ctx_push_cleanup(g->ctx, free, v);
    for (uint32_t i = 0; i < parts; i++) {
        v[i] = foo_expr(g, s->value, i);
        if (!p->in_cells) continue; /* a value may be other cells of the buffer itself */
        foo_value copy = foo_new_value(g, v[i].type, v[i].lanes, false);
        foo_emit(g, (foo_instr){.op = FOO_MOVE,
                                .type = (uint8_t)copy.type,
                                .lanes = copy.lanes,
                                .dst = copy.cell,
                                .a = v[i].cell});
        v[i] = copy;
    }
    for (uint32_t i = 0; i < parts; i++) foo_store_part(g, s->buffer, s->index[0], i, v[i]);
    gpuc_ctx_pop_cleanup(g->ctx, true);
}

static void emit_stmt(foo_emitter *g, gpuc_stmt s)
{
    enum { MANY = 8192 };
    gpuc_tir_stmt_info i = gpuc_tir_stmt_get(s);
    g->statement++;
    if (g->temporaries > MANY) foo_forget_temporaries(g);
    switch (i.kind) {
    case GPUC_STMT_FOR: emit_for(g, &i); break;
    case GPUC_STMT_STORE: emit_store(g, &i); break;
    case GPUC_STMT_IF: emit_if(g, &i); break;
    case GPUC_STMT_SEQ:
        for (int n = 0; n < i.num_bodies; n++) emit_stmt(g, i.bodies[n]);
        break;
    case GPUC_STMT_ALLOC:
    case GPUC_STMT_LET: emit_scope(g, &i); break;
    case GPUC_STMT_EVAL: foo_expr(g, i.value, 0); break;
    case GPUC_STMT_ATTR:
        if (strcmp(i.key, "coopmat") == 0) foo_refuse(g, "the attribute", i.key);
        if (i.bodies[0]) emit_stmt(g, i.bodies[0]);
        break;
    case GPUC_STMT_KIND_COUNT: break;
    }
}

/* ---- Kernels ---- */

/* Temporaries lie behind what stays. */
static void number_temporaries(foo_emitter *g)
{
    uint32_t base = (g->max_cells + 1) / 2 * 2;
    foo_kernel *k = &g->kernel;
    k->num_cells = base + g->max_temporaries;
    for (uint32_t i = 0; i < k->num_code; i++) {
        foo_instr *n = &k->code[i];
        uint16_t *cells[] = {&n->dst, &n->a, &n->b, &n->c};
        if (n->op == FOO_CONST || n->op == FOO_LOAD || n->op == FOO_STORE)
            cells[2] = &n->dst; /* b is no cell */
        if (n->op == FOO_CONST) cells[1] = cells[3] = &n->dst;
        for (int c = 0; c < 4; c++)
            if (*cells[c] >= FOO_TEMPORARY) *cells[c] = (uint16_t)(*cells[c] - FOO_TEMPORARY + base);
    }
}

/* Constants are made once, at the beginning. */
static bool emit_constant(gpuc_expr e, void *arg)
{
    gpuc_tir_expr_info i = gpuc_tir_expr_get(e), of = {.kind = GPUC_EXPR_KIND_COUNT};
    if (i.kind == GPUC_EXPR_BROADCAST) of = gpuc_tir_expr_get(i.operands[0]);
    if (i.kind == GPUC_EXPR_INT || i.kind == GPUC_EXPR_FLOAT || of.kind == GPUC_EXPR_INT ||
        of.kind == GPUC_EXPR_FLOAT)
        foo_hoist(arg, e);
    return true;
}

static void emit_kernel(foo_emitter *g, const gpuc_tir_func_info *f)
{
    foo_kernel *k = &g->kernel;
    if (strlen(f->name) >= sizeof k->name) foo_refuse(g, "the length of the name", f->name);
    strcpy(k->name, f->name);
    if (f->num_threads || f->subgroup_size) foo_refuse(g, "a launch of threads in", f->name);
    k->num_tensors = (uint32_t)f->num_buffers;
    for (int i = 0; i < f->num_buffers; i++) add_store(g, add_place(g, f->buffers[i]), 0);
    k->num_scalars = (uint32_t)f->num_scalars;
    k->scalars = malloc((k->num_scalars + 1) * sizeof *k->scalars);
    if (!k->scalars) gpuc_raise(g->ctx, GPUC_OUT_OF_MEMORY, "foo: out of memory for code");
    for (int i = 0; i < f->num_scalars; i++) {
        foo_value v = foo_new_value(g, foo_type_of(g, gpuc_expr_dtype(f->scalars[i])), 1, true);
        k->scalars[i] = (foo_scalar){v.type, v.cell};
        foo_know(g, f->scalars[i], 0, v);
    }
    if (f->body) gpuc_tir_visit_stmt(g->ctx, f->body, NULL, emit_constant, g);
    emit_block(g, f->body);
    foo_emit(g, (foo_instr){.op = FOO_END, .type = FOO_I32});
    number_temporaries(g);
}

static void free_emitter(void *arg)
{
    foo_emitter *g = arg;
    free(g->kernel.stores);
    free(g->kernel.scalars);
    free(g->kernel.code);
    free(g->places);
    free(g->known);
    free(g);
}

static void write_kernel(gpuc_ctx *ctx, const gpuc_tir_func *f, uint32_t lanes, foo_bytes *out)
{
    foo_emitter *g = calloc(1, sizeof *g);
    if (!g) gpuc_raise(ctx, GPUC_OUT_OF_MEMORY, "foo: out of memory for code");
    gpuc_ctx_push_cleanup(ctx, free_emitter, g);
    gpuc_tir_func_info info = gpuc_tir_func_get(f);
    *g = (foo_emitter){.ctx = ctx, .lanes = lanes, .aliased = info.aliased, .epoch = 1};
    emit_kernel(g, &info);
    foo_kernel_write(out, &g->kernel);
    gpuc_ctx_pop_cleanup(ctx, true);
}

static void free_bytes(void *bytes)
{
    foo_bytes_free(bytes);
}

/* target.build.foo(context, gpuc_ir_module) -> module; self is the runtime. */
static gpuc_status build(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    if (num_args != 2 || args[0].kind != GPUC_VALUE_HANDLE || args[1].kind != GPUC_VALUE_HANDLE)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "target.build.foo takes a context and a module of kernels");
    gpuc_ctx *ctx = args[0].as.handle;
    gpuc_ir_module *ir = args[1].as.handle;
    uint32_t lanes = (uint32_t)gpuc_target_get_int(gpuc_ir_module_target(ir), "lanes");
    foo_bytes code = {.failed = false};
    gpuc_module *m = NULL;
    gpuc_ctx_push_cleanup(ctx, free_bytes, &code);
    foo_head_write(&code, lanes, (uint32_t)gpuc_ir_module_count(ir));
    for (int i = 0; i < gpuc_ir_module_count(ir); i++)
        write_kernel(ctx, gpuc_ir_module_func(ir, i), lanes, &code);
    gpuc_status status = code.failed ? gpuc_fail(GPUC_OUT_OF_MEMORY, "foo: out of memory for code")
                                     : foo_module_create(self, code.data, code.size, &m);
    gpuc_ctx_pop_cleanup(ctx, true);
    if (!status) *ret = (gpuc_value){.kind = GPUC_VALUE_MODULE, .as.module = m};
    return status;
}

gpuc_status foo_codegen_register(gpuc_runtime *rt)
{
    return gpuc_registry_set_fn(rt, "target.build.foo", build, rt, NULL, false);
}
