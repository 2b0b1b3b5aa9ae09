/* SPDX-License-Identifier: Apache-2.0 */
/* gpuc/relay_ir.h as a caller sees it: programs built node by node, walked, rewritten and checked; and what is said of wrong
 * calls. Nothing of src is used but the fixture. */
#include "copy.h"
#include "fixture.h"

#include <gpuc/relay_ir.h>

static const gpuc_rtype *scalar(gpuc_ctx *ctx, gpuc_dtype t)
{
    return gpuc_relay_rtype_tensor_static(ctx, t, 0, NULL);
}

static gpuc_rexpr *number(gpuc_ctx *ctx, double v)
{
    return gpuc_relay_const_scalar(ctx, GPUC_INT32, v);
}

static gpuc_rexpr *apply2(gpuc_ctx *ctx, const char *op, gpuc_rexpr *a, gpuc_rexpr *b)
{
    gpuc_rexpr *args[] = {a, b};
    return gpuc_relay_apply(ctx, op, NULL, 2, args);
}

static gpuc_rexpr *call(gpuc_ctx *ctx, gpuc_rexpr *callee, gpuc_rexpr *a, gpuc_rexpr *b)
{
    gpuc_rexpr *args[] = {a, b};
    return gpuc_relay_call(ctx, callee, NULL, a ? b ? 2 : 1 : 0, args);
}

/* type List[A] { Cons(A, List[A]), Nil } */
static const gpuc_adt *define_list(gpuc_ctx *ctx, gpuc_rmodule *m)
{
    const gpuc_rtype *a = gpuc_relay_rtype_var(ctx, "A");
    gpuc_adt *list = gpuc_relay_adt(ctx, "List", 1, &a);
    const gpuc_rtype *cell[] = {a, gpuc_relay_rtype_adt(ctx, list, 1, &a)};
    const gpuc_relay_constructor_desc constructors[] = {{"Cons", 2, cell}, {"Nil", 0, NULL}};
    gpuc_rmodule_define_adt(m, list, 2, constructors);
    return list;
}

/* def @map[A, B](%f: fn (A) -> B, %xs: List[A]) -> List[B] */
static void define_map(gpuc_ctx *ctx, gpuc_rmodule *m, const gpuc_adt *list)
{
    const gpuc_rtype *ab[] = {gpuc_relay_rtype_var(ctx, "A"), gpuc_relay_rtype_var(ctx, "B")};
    gpuc_rexpr *f = gpuc_relay_var(ctx, "f", gpuc_relay_rtype_func(ctx, 1, &ab[0], ab[1])),
               *xs = gpuc_relay_var(ctx, "xs", gpuc_relay_rtype_adt(ctx, list, 1, &ab[0])),
               *x = gpuc_relay_var(ctx, "x", NULL), *rest = gpuc_relay_var(ctx, "rest", NULL),
               *params[] = {f, xs};
    const gpuc_constructor *cons = gpuc_rmodule_get_constructor(m, "Cons"),
                           *nil = gpuc_rmodule_get_constructor(m, "Nil");
    const gpuc_rpattern *fields[] = {gpuc_relay_pattern_var(ctx, x), gpuc_relay_pattern_var(ctx, rest)};
    gpuc_rexpr *cell = call(ctx, gpuc_relay_constructor(ctx, cons), call(ctx, f, x, NULL),
                            call(ctx, gpuc_relay_global(ctx, "map"), f, rest));
    const gpuc_rclause clauses[] = {
        {gpuc_relay_pattern_constructor(ctx, cons, 2, fields), cell},
        {gpuc_relay_pattern_any(ctx), call(ctx, gpuc_relay_constructor(ctx, nil), NULL, NULL)}};
    gpuc_rmodule_add_function(
        m, "map",
        gpuc_relay_generic_function(ctx, 2, ab, 2, params, gpuc_relay_rtype_adt(ctx, list, 1, &ab[1]),
                                    gpuc_relay_match(ctx, xs, 2, clauses, false), NULL));
}

static const char map_text[] = "type List[A] {\n"
                               "  Cons(A, List[A]),\n"
                               "  Nil,\n"
                               "}\n"
                               "\n"
                               "def @map[A, B](%f: fn (A) -> B, %xs: List[A]) -> List[B] {\n"
                               "  match (%xs) {\n"
                               "    Cons(%x, %rest) => {\n"
                               "      %0 = %f(%x);\n"
                               "      %1 = @map(%f, %rest);\n"
                               "      Cons(%0, %1)\n"
                               "    },\n"
                               "    _ => {\n"
                               "      Nil\n"
                               "    },\n"
                               "  }\n"
                               "}\n";

static gpuc_rmodule *map_module(gpuc_ctx *ctx)
{
    gpuc_rmodule *m = gpuc_rmodule_create(ctx);
    define_map(ctx, m, define_list(ctx, m));
    return m;
}

/* It prints as what it stands for, and parses to the same. */
static void functions_with_type_parameters(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rmodule *m = map_module(ctx);
    assert_string_equal(gpuc_relay_text(ctx, m, 0), map_text); /* without types, too */
    gpuc_relay_infer_module(ctx, m);
    gpuc_relay_validate_given(ctx, m);
    gpuc_relay_infer_module(ctx, m); /* changes nothing */
    assert_string_equal(gpuc_relay_text(ctx, m, 0), map_text);
    gpuc_rmodule *parsed = gpuc_relay_parse(ctx, map_text, "text", NULL);
    assert_string_equal(gpuc_relay_text(ctx, parsed, GPUC_RELAY_PRINT_TYPES),
                        gpuc_relay_text(ctx, m, GPUC_RELAY_PRINT_TYPES));
    assert_string_equal(gpuc_rmodule_function_type(ctx, m, "map"),
                        "fn [A, B](fn (A) -> B, List[A]) -> List[B]");
    assert_string_equal(gpuc_relay_adt_name(gpuc_rmodule_get_adt(parsed, "List")), "List");
}

static void validate(gpuc_ctx *ctx, void *m)
{
    gpuc_relay_validate_given(ctx, m);
}

/* let, if, tuples, closures, attributes in both forms, constants: what is printed is the program. */
static void all_the_rest_of_the_language(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rmodule *m = gpuc_rmodule_create(ctx);
    const int64_t dims[] = {2, 3};
    const float bytes[] = {1, 2, 3, 4, 5, 6};
    gpuc_rexpr *c = gpuc_relay_var(ctx, "c", scalar(ctx, GPUC_BOOL)),
               *x = gpuc_relay_var(ctx, "x", gpuc_relay_rtype_tensor_static(ctx, GPUC_FLOAT32, 2, dims)),
               *y = gpuc_relay_var(ctx, "y", NULL), *p = gpuc_relay_var(ctx, "p", NULL),
               *f = gpuc_relay_var(ctx, "f", NULL), *params[] = {c, x};
    gpuc_rexpr *k = gpuc_relay_const_bytes(ctx, GPUC_FLOAT32, 2, dims, bytes), *two[] = {x, k};
    const gpuc_attrs *typed =
        gpuc_attrs_int(ctx, gpuc_attrs_ints(ctx, NULL, "axis", 1, (int64_t[]){1}), "keepdims", 1);
    gpuc_rexpr *sum = gpuc_relay_apply(ctx, "sum", gpuc_relay_attrs(ctx, "axis=[1], keepdims=True"), 1, &y),
               *same = gpuc_relay_apply(ctx, "sum", typed, 1, &y);
    gpuc_rexpr *closure = gpuc_relay_function(ctx, 1, &y, apply2(ctx, "add", sum, same), NULL);
    gpuc_rexpr *pair = gpuc_relay_tuple(ctx, 2, two);
    gpuc_rexpr *joined = gpuc_relay_apply(ctx, "concatenate", gpuc_relay_attrs(ctx, "axis=1"), 1, &p);
    gpuc_rexpr *branch =
        gpuc_relay_if(ctx, c, call(ctx, f, gpuc_relay_get(ctx, p, 0), NULL),
                      gpuc_relay_apply(ctx, "sum", gpuc_relay_attrs(ctx, "axis=-1, keepdims=1"), 1, &joined));
    gpuc_rexpr *body = gpuc_relay_let(ctx, f, closure, gpuc_relay_let(ctx, p, pair, branch));
    gpuc_rmodule_add_function(m, "main", gpuc_relay_function(ctx, 2, params, body, NULL));
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "in @main: |is not inferred|gpuc_relay_infer_module", validate, m);
    gpuc_relay_infer_module(ctx, m);
    gpuc_relay_validate_given(ctx, m);
    const char *text = gpuc_relay_text(ctx, m, GPUC_RELAY_PRINT_CONSTANTS);
    assert_string_equal(text, "def @main(%c: bool, %x: Tensor[(2, 3), float32]) {\n"
                              "  let %f = fn (%y) {\n"
                              "    %0 = sum(%y, axis=[1], keepdims=1);\n"
                              "    %1 = sum(%y, axis=[1], keepdims=1);\n"
                              "    add(%0, %1)\n"
                              "  };\n"
                              "  let %p = (%x, meta[relay.Constant][0]);\n"
                              "  if (%c) {\n"
                              "    %2 = %p.0;\n"
                              "    %f(%2)\n"
                              "  } else {\n"
                              "    %3 = concatenate(%p, axis=1);\n"
                              "    sum(%3, axis=[-1], keepdims=1)\n"
                              "  }\n"
                              "}\n"
                              "\n"
                              "#[constants]\n"
                              "Tensor[(2, 3), float32] \"AACAPwAAAEAAAEBAAACAQAAAoEAAAMBA\"\n");
    assert_string_equal(
        gpuc_relay_text(ctx, gpuc_relay_parse(ctx, text, "text", NULL), GPUC_RELAY_PRINT_CONSTANTS), text);
}

static void infer(gpuc_ctx *ctx, void *m)
{
    gpuc_relay_infer_module(ctx, m);
}

/* ---- Wrong programs ---- */

typedef gpuc_rexpr *bad_body(gpuc_ctx *ctx, gpuc_rmodule *m, gpuc_rexpr *x);

static gpuc_rexpr *unbound(gpuc_ctx *ctx, gpuc_rmodule *m, gpuc_rexpr *x)
{
    (void)m;
    return apply2(ctx, "add", x, gpuc_relay_var(ctx, "stray", scalar(ctx, GPUC_INT32)));
}

static gpuc_rexpr *bound_twice(gpuc_ctx *ctx, gpuc_rmodule *m, gpuc_rexpr *x)
{
    (void)m;
    return gpuc_relay_let(ctx, x, number(ctx, 1), x);
}

static gpuc_rexpr *escapes(gpuc_ctx *ctx, gpuc_rmodule *m, gpuc_rexpr *x)
{
    (void)m;
    gpuc_rexpr *y = gpuc_relay_var(ctx, "y", NULL), *z = gpuc_relay_var(ctx, "z", NULL),
               *late = apply2(ctx, "add", y, x), *let = gpuc_relay_let(ctx, y, number(ctx, 1), late);
    return gpuc_relay_let(ctx, z, late, let); /* the value of z uses y */
}

/* A clause gives what the one before binds. */
static gpuc_rexpr *of_another_clause(gpuc_ctx *ctx, gpuc_rmodule *m, gpuc_rexpr *x)
{
    (void)m;
    gpuc_rexpr *v = gpuc_relay_var(ctx, "v", NULL), *w = gpuc_relay_var(ctx, "w", NULL);
    const gpuc_rclause clauses[] = {{gpuc_relay_pattern_var(ctx, v), x}, {gpuc_relay_pattern_var(ctx, w), v}};
    return gpuc_relay_match(ctx, x, 2, clauses, false);
}

/* A node in the scope of its variable, and beside it. */
static gpuc_rexpr *in_and_out(gpuc_ctx *ctx, gpuc_rmodule *m, gpuc_rexpr *x)
{
    (void)m;
    gpuc_rexpr *y = gpuc_relay_var(ctx, "y", NULL), *sum = apply2(ctx, "add", x, y);
    gpuc_rexpr *let = gpuc_relay_let(ctx, y, x, sum), *first[] = {let, sum}, *last[] = {sum, let};
    return gpuc_relay_if(ctx, apply2(ctx, "less", x, x), gpuc_relay_tuple(ctx, 2, first),
                         gpuc_relay_tuple(ctx, 2, last));
}

static gpuc_rexpr *own_value(gpuc_ctx *ctx, gpuc_rmodule *m, gpuc_rexpr *x)
{
    (void)m;
    gpuc_rexpr *y = gpuc_relay_var(ctx, "y", NULL);
    return gpuc_relay_let(ctx, y, apply2(ctx, "add", y, x), y);
}

static gpuc_rexpr *other_type(gpuc_ctx *ctx, gpuc_rmodule *m, gpuc_rexpr *x)
{
    (void)m;
    gpuc_rexpr *y = gpuc_relay_var(ctx, "y", scalar(ctx, GPUC_FLOAT32));
    return gpuc_relay_let(ctx, y, x, y);
}

static gpuc_rexpr *other_branches(gpuc_ctx *ctx, gpuc_rmodule *m, gpuc_rexpr *x)
{
    (void)m;
    return gpuc_relay_if(ctx, apply2(ctx, "less", x, number(ctx, 1)), x,
                         gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, 1));
}

static gpuc_rexpr *wrong_arity(gpuc_ctx *ctx, gpuc_rmodule *m, gpuc_rexpr *x)
{
    (void)m;
    return call(ctx, gpuc_relay_global(ctx, "map"), x, NULL);
}

static gpuc_rexpr *wrong_op_arity(gpuc_ctx *ctx, gpuc_rmodule *m, gpuc_rexpr *x)
{
    (void)m;
    return gpuc_relay_apply(ctx, "add", NULL, 1, &x);
}

static gpuc_rexpr *no_global(gpuc_ctx *ctx, gpuc_rmodule *m, gpuc_rexpr *x)
{
    (void)m;
    return call(ctx, gpuc_relay_global(ctx, "mop"), x, NULL);
}

static gpuc_rexpr *not_exhaustive(gpuc_ctx *ctx, gpuc_rmodule *m, gpuc_rexpr *x)
{
    const gpuc_constructor *nil = gpuc_rmodule_get_constructor(m, "Nil");
    const gpuc_rclause clause = {gpuc_relay_pattern_constructor(ctx, nil, 0, NULL), x};
    return gpuc_relay_match(ctx, call(ctx, gpuc_relay_constructor(ctx, nil), NULL, NULL), 1, &clause, false);
}

static gpuc_rexpr *other_constructor(gpuc_ctx *ctx, gpuc_rmodule *m, gpuc_rexpr *x)
{
    (void)m;
    (void)x;
    gpuc_rmodule *other = map_module(ctx);
    return call(ctx, gpuc_relay_constructor(ctx, gpuc_rmodule_get_constructor(other, "Nil")), NULL, NULL);
}

static gpuc_rexpr *pattern_twice(gpuc_ctx *ctx, gpuc_rmodule *m, gpuc_rexpr *x)
{
    gpuc_rexpr *v = gpuc_relay_var(ctx, "v", NULL);
    (void)m;
    gpuc_rexpr *fields[] = {x, x};
    const gpuc_rpattern *both[] = {gpuc_relay_pattern_var(ctx, v), gpuc_relay_pattern_var(ctx, v)};
    const gpuc_rclause clause = {gpuc_relay_pattern_tuple(ctx, 2, both), v};
    return gpuc_relay_match(ctx, gpuc_relay_tuple(ctx, 2, fields), 1, &clause, false);
}

/* An operator that nobody calls. */
static gpuc_rexpr *operator_as_value(gpuc_ctx *ctx, gpuc_rmodule *m, gpuc_rexpr *x)
{
    (void)m;
    gpuc_rexpr *add = gpuc_relay_operand(apply2(ctx, "add", x, x), 0);
    return call(ctx, gpuc_relay_if(ctx, apply2(ctx, "less", x, x), add, add), x, x);
}

static gpuc_rexpr *other_field(gpuc_ctx *ctx, gpuc_rmodule *m, gpuc_rexpr *x)
{
    const gpuc_rtype *stray = gpuc_relay_rtype_adt(ctx, gpuc_relay_adt(ctx, "Stray", 0, NULL), 0, NULL);
    gpuc_rmodule_define_adt(m, gpuc_relay_adt(ctx, "Box", 0, NULL), 1,
                            &(gpuc_relay_constructor_desc){"Full", 1, &stray});
    return x;
}

static void wrong_programs(gpuc_ctx *ctx, void *arg)
{
    static const struct {
        bad_body *make;
        const char *words;
    } rows[] = {
        {unbound, "in @main: |%stray is not bound"},
        {bound_twice, "in @main: |%x is bound twice|a function|a let"},
        {escapes, "in @main: |%y is used outside of its scope|a let"},
        {of_another_clause, "in @main: |%v is used outside of its scope|a match"},
        {in_and_out, "in @main: |%y is used outside of its scope"},
        {own_value, "in @main: |%y is used outside of its scope"},
        {other_type, "in @main: |%y is float32, its value int32"},
        {other_branches, "in @main: |branches have different types: int32 and float32"},
        {wrong_arity, "in @main: the call of @map: |takes 2 arguments, not 1"},
        {wrong_op_arity, "in @main: the call of add: |add|2"},
        {no_global, "in @main: |the module has no function '@mop'"},
        {not_exhaustive, "in @main: |no clause fits Cons(_, _)"},
        {other_constructor, "in @main: |the constructor Nil is not one of the module"},
        {pattern_twice, "in @main: |%v is bound twice|a match"},
        {operator_as_value, "in @main: |the operator add is a value here"},
        {other_field, "in type Box: |the data type Stray is not one of the module"},
    };
    (void)arg;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        gpuc_rmodule *m = map_module(ctx);
        gpuc_rexpr *x = gpuc_relay_var(ctx, "x", scalar(ctx, GPUC_INT32));
        gpuc_rmodule_add_function(m, "main", gpuc_relay_function(ctx, 1, &x, rows[i].make(ctx, m, x), NULL));
        fx_expect(ctx, GPUC_INVALID_ARGUMENT, rows[i].words, infer, m);
    }
}

/* ---- Wrong calls ---- */

typedef struct misuse {
    gpuc_rmodule *m;
    gpuc_rexpr *x;
    int which;
} misuse;

/* Each pattern is in the next one twice. */
static void large_pattern(gpuc_ctx *ctx)
{
    const gpuc_rpattern *p = gpuc_relay_pattern_any(ctx);
    for (int i = 0; i < 60; i++) p = gpuc_relay_pattern_tuple(ctx, 2, (const gpuc_rpattern *[]){p, p});
}

/* Those of types, and of what has text but is not said by types. */
static void write_wrongly(gpuc_ctx *ctx, const misuse *u)
{
    gpuc_rexpr *x = u->x;
    const gpuc_rtype *a = gpuc_relay_rtype_var(ctx, "A"), *same[] = {a, gpuc_relay_rtype_var(ctx, "A")};
    const gpuc_expr third = gpuc_imm(ctx, GPUC_FLOAT32, 0.5), negative = gpuc_int(ctx, -2);
    switch (u->which) {
    case 28: large_pattern(ctx); break;
    case 29: gpuc_relay_const_scalar(ctx, (gpuc_dtype){GPUC_DTYPE_INT, 32, 64}, 1); break;
    case 30: gpuc_relay_rtype_tensor_static(ctx, (gpuc_dtype){GPUC_DTYPE_INT, 3, 1}, 0, NULL); break;
    case 31: gpuc_relay_rtype_tensor(ctx, GPUC_FLOAT32, 1, &third); break;
    case 32: gpuc_relay_rtype_tensor(ctx, GPUC_FLOAT32, 1, &negative); break;
    case 33: gpuc_relay_generic_function(ctx, 2, same, 1, &x, NULL, x, NULL); break;
    case 34: gpuc_relay_adt(ctx, "Pair", 2, same); break;
    case 35: gpuc_relay_rtype_var(ctx, "fn"); break;
    case 36: gpuc_relay_function(ctx, 1, &x, x, gpuc_attrs_int(ctx, NULL, "a b", 1)); break;
    case 37:
        gpuc_relay_call(ctx, gpuc_relay_global(ctx, "map"), gpuc_attrs_int(ctx, NULL, "axis", 1), 1, &x);
        break;
    default: fail_msg("no call %d", u->which);
    }
}

static void call_wrongly(gpuc_ctx *ctx, void *arg)
{
    misuse *u = arg;
    gpuc_rexpr *x = u->x, *none[2] = {x, NULL};
    const gpuc_constructor *cons = gpuc_rmodule_get_constructor(u->m, "Cons");
    const gpuc_rtype *a = gpuc_relay_rtype_var(ctx, "A"), *t = scalar(ctx, GPUC_INT32);
    const gpuc_rclause clause = {NULL, x};
    switch (u->which) {
    case 0: gpuc_relay_let(ctx, x, NULL, x); break;
    case 1: gpuc_relay_let(ctx, number(ctx, 1), x, x); break;
    case 2: gpuc_relay_apply(ctx, "add", NULL, 2, none); break;
    case 3: gpuc_relay_apply(ctx, "ad", NULL, 0, NULL); break;
    case 4: gpuc_relay_function(ctx, 1, none, NULL, NULL); break;
    case 5: gpuc_relay_match(ctx, x, 1, &clause, false); break;
    case 6: gpuc_relay_pattern_constructor(ctx, cons, 0, NULL); break;
    case 7: gpuc_rmodule_get_constructor(u->m, "Con"); break;
    case 8: gpuc_relay_adt(ctx, "a b", 0, NULL); break;
    case 9: gpuc_relay_adt(ctx, "Box", 1, &t); break;
    case 10:
        gpuc_rmodule_define_adt(u->m, gpuc_relay_adt(ctx, "Box", 0, NULL), 1,
                                &(gpuc_relay_constructor_desc){"Full", 1, &a});
        break;
    case 11:
        gpuc_rmodule_define_adt(u->m, gpuc_relay_adt(ctx, "Box", 0, NULL), 1,
                                &(gpuc_relay_constructor_desc){"Nil", 0, NULL});
        break;
    case 12: gpuc_rmodule_define_adt(u->m, gpuc_relay_adt(ctx, "List", 0, NULL), 0, NULL); break;
    case 13: gpuc_rmodule_add_function(u->m, "map", gpuc_relay_function(ctx, 1, &x, x, NULL)); break;
    case 14: gpuc_rmodule_add_function(u->m, "f", x); break;
    case 15: gpuc_rmodule_replace_function(u->m, "f", gpuc_relay_function(ctx, 1, &x, x, NULL)); break;
    case 16: gpuc_relay_get(ctx, gpuc_relay_tuple(ctx, 1, &x), 1); break;
    case 17: gpuc_relay_get(ctx, x, 0); break;
    case 18: gpuc_relay_attrs(ctx, "axis=1, keepdims="); break;
    case 19: gpuc_relay_attrs(ctx, "axis=1) x"); break;
    case 20: gpuc_relay_attrs(ctx, "newshape=[n, 2]"); break;
    case 21: gpuc_relay_rtype_tensor_static(ctx, GPUC_INT32, 1, (int64_t[]){-1}); break;
    case 22: gpuc_relay_rtype_tuple(ctx, 2, (const gpuc_rtype *[]){t, NULL}); break;
    case 23: gpuc_relay_rtype_adt(ctx, gpuc_rmodule_get_adt(u->m, "List"), 0, NULL); break;
    case 24: gpuc_relay_mutate(ctx, NULL, NULL, NULL); break;
    case 25: gpuc_relay_tuple(ctx, -1, NULL); break;
    case 26: gpuc_relay_const_bytes(ctx, GPUC_INT32, 0, NULL, NULL); break;
    case 27: gpuc_relay_interpreter_create(ctx, u->m, NULL); break;
    default: write_wrongly(ctx, u);
    }
}

static void wrong_calls(gpuc_ctx *ctx, void *arg)
{
    static const struct {
        gpuc_code code;
        const char *words;
    } rows[] = {
        {GPUC_INVALID_ARGUMENT, "a let: the value is NULL"},
        {GPUC_INVALID_ARGUMENT, "a let: a variable is expected, not a constant"},
        {GPUC_INVALID_ARGUMENT, "add: argument 1 is NULL"},
        {GPUC_UNSUPPORTED, "unknown operator 'ad'; did you mean 'add'?"},
        {GPUC_INVALID_ARGUMENT, "a function: the body is NULL"},
        {GPUC_INVALID_ARGUMENT, "clause 0 of a match: the pattern is NULL"},
        {GPUC_INVALID_ARGUMENT, "Cons has 2 fields, not 0"},
        {GPUC_NOT_FOUND, "no constructor 'Con'; did you mean 'Cons'?"},
        {GPUC_INVALID_ARGUMENT, "'a b' is no name"},
        {GPUC_INVALID_ARGUMENT, "Box: int32 is no type parameter|gpuc_relay_rtype_var"},
        {GPUC_INVALID_ARGUMENT, "field 0 of Full: A is no type parameter of Box"},
        {GPUC_INVALID_ARGUMENT, "'Nil' is a constructor of List already"},
        {GPUC_INVALID_ARGUMENT, "a type 'List' already"},
        {GPUC_INVALID_ARGUMENT, "a function '@map' already"},
        {GPUC_INVALID_ARGUMENT, "@f: a function is expected, not %x"},
        {GPUC_NOT_FOUND, "no function 'f'"},
        {GPUC_INVALID_ARGUMENT, "there is no field 1 in a tuple"},
        {GPUC_INVALID_ARGUMENT, "there is no field 0 in %x, which is int32"},
        {GPUC_INVALID_ARGUMENT, "attributes:1:18: "},
        {GPUC_INVALID_ARGUMENT, "attributes:1:7: a name is expected"},
        {GPUC_INVALID_ARGUMENT, "'n' is a name|gpuc_attrs_sizes"},
        {GPUC_INVALID_ARGUMENT, "extent 0 is -1"},
        {GPUC_INVALID_ARGUMENT, "a type: part 1 is NULL"},
        {GPUC_INVALID_ARGUMENT, "'List' has 1 type parameters, not 0"},
        {GPUC_INVALID_ARGUMENT, "a rewrite: the expression is NULL"},
        {GPUC_INVALID_ARGUMENT, "a tuple: -1 fields"},
        {GPUC_INVALID_ARGUMENT, "a constant: the list of elements is NULL"},
        {GPUC_INVALID_ARGUMENT, "in @map: |is not inferred"},
        {GPUC_INVALID_ARGUMENT, "a pattern of a tuple: it has more than 131072 parts"},
        {GPUC_INVALID_ARGUMENT, "64 lanes is no element type"},
        {GPUC_INVALID_ARGUMENT, "of 3 bits|is no element type"},
        {GPUC_INVALID_ARGUMENT, "extent 0, 0.5, is float32: it must be int64"},
        {GPUC_INVALID_ARGUMENT, "extent 0 is -2"},
        {GPUC_INVALID_ARGUMENT, "a function: two type parameters are named 'A'"},
        {GPUC_INVALID_ARGUMENT, "Pair: two type parameters are named 'A'"},
        {GPUC_INVALID_ARGUMENT, "the type parameter 'fn': the name is a word of the language"},
        {GPUC_INVALID_ARGUMENT, "an attribute of a function: 'a b' is no name"},
        {GPUC_INVALID_ARGUMENT, "the call of @map has attributes"},
    };
    (void)arg;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        misuse u = {map_module(ctx), gpuc_relay_var(ctx, "x", scalar(ctx, GPUC_INT32)), (int)i};
        fx_expect(ctx, rows[i].code, rows[i].words, call_wrongly, &u);
    }
}

static void define_box(gpuc_ctx *ctx, void *m)
{
    const gpuc_relay_constructor_desc constructors[] = {{"Full", 0, NULL}, {"Nil", 0, NULL}};
    gpuc_rmodule_define_adt(m, gpuc_relay_adt(ctx, "Box", 0, NULL), 2, constructors);
}

/* A data type of which one constructor is refused leaves none of the others. */
static void refused_types_leave_nothing(gpuc_ctx *ctx, void *arg)
{
    gpuc_rmodule *m = map_module(ctx);
    (void)arg;
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "'Nil' is a constructor of List already", define_box, m);
    gpuc_rmodule_define_adt(m, gpuc_relay_adt(ctx, "Box", 0, NULL), 1,
                            &(gpuc_relay_constructor_desc){"Full", 0, NULL});
    gpuc_relay_infer_module(ctx, m);
}

/* A function inside of another has a type parameter of the same name, or of the name of a data type. */
static void type_parameters_of_one_name(gpuc_ctx *ctx, void *arg)
{
    gpuc_rmodule *m = map_module(ctx);
    const gpuc_rtype *a = gpuc_relay_rtype_var(ctx, "A"),
                     *own[] = {gpuc_relay_rtype_var(ctx, "A"), gpuc_relay_rtype_var(ctx, "List")};
    gpuc_rexpr *x = gpuc_relay_var(ctx, "x", a), *y = gpuc_relay_var(ctx, "y", own[0]),
               *z = gpuc_relay_var(ctx, "z", a), *w = gpuc_relay_var(ctx, "w", own[1]), *params[] = {y, z, w},
               *args[] = {number(ctx, 1), x, x};
    (void)arg;
    gpuc_rexpr *inner = gpuc_relay_generic_function(ctx, 2, own, 3, params, a, z, NULL);
    gpuc_rmodule_add_function(
        m, "f",
        gpuc_relay_generic_function(ctx, 1, &a, 1, &x, a, gpuc_relay_call(ctx, inner, NULL, 3, args), NULL));
    gpuc_relay_infer_module(ctx, m);
    const char *text = gpuc_relay_text(ctx, m, 0);
    assert_non_null(strstr(text, "def @f[A](%x: A) -> A {\n"
                                 "  %0 = fn [A1, List1](%y: A1, %z: A, %w: List1) -> A {\n"));
    assert_string_equal(gpuc_relay_text(ctx, gpuc_relay_parse(ctx, text, "text", NULL), 0), text);
    text = "def @f[A](%x: A, %c: bool) -> A { (if (%c) { fn [A](%y: A) -> A { %y } } else { fn [A](%y: A) -> "
           "A { "
           "%y } })(%x) }";
    text = gpuc_relay_text(ctx, gpuc_relay_parse(ctx, text, "text", NULL), GPUC_RELAY_PRINT_TYPES);
    assert_non_null(strstr(text, "/* ty=fn [A1](A1) -> A1 */"));
    assert_string_equal(
        gpuc_relay_text(ctx, gpuc_relay_parse(ctx, text, "text", NULL), GPUC_RELAY_PRINT_TYPES), text);
    text =
        "def @f[A](%y: A) { (%y, fn [A](%w: A) { %w }) } def @main(%x: int32) { let %a = @f(%x); %a.1(2f) }";
    text = gpuc_relay_text(ctx, gpuc_relay_parse(ctx, text, "text", NULL), GPUC_RELAY_PRINT_TYPES);
    assert_non_null(strstr(text, "%a.1; /* ty=fn [A](A) -> A */"));
    assert_string_equal(
        gpuc_relay_text(ctx, gpuc_relay_parse(ctx, text, "text", NULL), GPUC_RELAY_PRINT_TYPES), text);
}

/* ---- Walks ---- */

typedef struct seen {
    int kinds[GPUC_REXPR_KIND_COUNT], all;
    const char *last_var;
} seen;

static void note(gpuc_rexpr *e, void *arg)
{
    seen *s = arg;
    s->kinds[gpuc_relay_get_kind(e)]++;
    s->all++;
    if (gpuc_relay_get_kind(e) == GPUC_REXPR_VAR) s->last_var = gpuc_relay_get_name(e);
}

static void visits_see_every_scope_once(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rmodule *m = map_module(ctx);
    seen s = {0};
    gpuc_rmodule_visit(m, note, &s);
    assert_int_equal(s.kinds[GPUC_REXPR_VAR], 4); /* of parameters and patterns */
    assert_int_equal(s.kinds[GPUC_REXPR_CALL], 4);
    assert_int_equal(s.kinds[GPUC_REXPR_CONSTRUCTOR], 2);
    assert_int_equal(s.kinds[GPUC_REXPR_MATCH], 1);
    assert_int_equal(s.kinds[GPUC_REXPR_FUNCTION], 1);
    assert_int_equal(s.kinds[GPUC_REXPR_GLOBAL], 1);
    /* Deep, and with more paths than anybody walks. */
    enum { DEEP = 200000 };
    gpuc_rexpr *x = gpuc_relay_var(ctx, "x", scalar(ctx, GPUC_INT32)), *e = x;
    for (int i = 0; i < DEEP; i++) {
        gpuc_rexpr *v = gpuc_relay_var(ctx, "v", NULL), *two[] = {e, v};
        e = gpuc_relay_let(ctx, v, e, gpuc_relay_tuple(ctx, 2, two));
    }
    s = (seen){0};
    gpuc_relay_visit(ctx, e, note, &s);
    assert_int_equal(s.all, 3 * DEEP + 1);
    gpuc_rexpr *last = NULL;
    for (int i = 0; (last = gpuc_relay_operand(e, i)); i++) assert_int_equal(i < 3, 1);
    assert_int_equal(gpuc_relay_num_operands(e), 3);
}

typedef struct type_vars {
    int all, bound;
    const gpuc_rtype *at[8], *params[8];
} type_vars;

static bool is_among(const gpuc_rtype *t, int n, const gpuc_rtype *const *at)
{
    for (int i = 0; i < n; i++)
        if (at[i] == t) return true;
    return false;
}

static void note_type_vars(type_vars *v, const gpuc_rtype *t)
{
    gpuc_rtype_kind kind = t ? gpuc_relay_rtype_get_kind(t) : GPUC_RTYPE_HOLE;
    if (kind == GPUC_RTYPE_VAR && !is_among(t, v->all, v->at)) v->at[v->all++] = t;
    if (kind == GPUC_RTYPE_FUNC) note_type_vars(v, gpuc_relay_rtype_result(t));
    if (kind != GPUC_RTYPE_TUPLE && kind != GPUC_RTYPE_FUNC && kind != GPUC_RTYPE_ADT) return;
    for (int i = 0; i < gpuc_relay_rtype_count(t); i++) note_type_vars(v, gpuc_relay_rtype_part(t, i));
}

static void note_types(gpuc_rexpr *e, void *arg)
{
    type_vars *v = arg;
    const gpuc_rtype *param;
    note_type_vars(v, gpuc_relay_get_annotation(e));
    for (int i = 0; (param = gpuc_relay_get_type_param(e, i)); i++) {
        v->params[v->bound++] = param;
        note_type_vars(v, param);
    }
}

/* Which type variables there are, which are parameters, and which are free. */
static void a_walk_finds_type_variables(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    const gpuc_rtype *a = gpuc_relay_rtype_var(ctx, "A"), *b = gpuc_relay_rtype_var(ctx, "B"),
                     *c = gpuc_relay_rtype_var(ctx, "C"), *both[] = {a, b},
                     *pair[] = {c, scalar(ctx, GPUC_INT32)};
    gpuc_rexpr *x = gpuc_relay_var(ctx, "x", a),
               *f = gpuc_relay_var(ctx, "f",
                                   gpuc_relay_rtype_func(ctx, 1, &b, gpuc_relay_rtype_tuple(ctx, 2, pair))),
               *y = gpuc_relay_var(ctx, "y", gpuc_relay_rtype_tuple(ctx, 2, pair)), *params[] = {x, f};
    gpuc_rexpr *let = gpuc_relay_let(ctx, y, gpuc_relay_var(ctx, "free", NULL), y);
    type_vars v = {0};
    gpuc_relay_visit(ctx, let, note_types, &v);
    assert_true(v.all == 1 && v.at[0] == c && v.bound == 0);
    v = (type_vars){0};
    gpuc_relay_visit(ctx, gpuc_relay_generic_function(ctx, 2, both, 2, params, a, let, NULL), note_types, &v);
    assert_true(v.all == 3 && v.bound == 2);
    assert_true(v.params[0] == a && v.params[1] == b && is_among(c, v.all, v.at) &&
                !is_among(c, 2, v.params));
    v = (type_vars){0};
    gpuc_relay_visit(ctx, gpuc_relay_function(ctx, 1, &x, x, NULL), note_types, &v);
    assert_true(v.all == 1 && v.bound == 0); /* no function has it as a parameter */
}

/* A chain of lets, each in the scope of all before: scopes are checked in a time that grows with its length. */
static void long_chains_of_lets(gpuc_ctx *ctx, void *arg)
{
    enum { LONG = 20000 };
    (void)arg;
    gpuc_rmodule *m = gpuc_rmodule_create(ctx);
    gpuc_rexpr *x = gpuc_relay_var(ctx, "x", scalar(ctx, GPUC_INT32)), **v = calloc(LONG + 1, sizeof *v);
    assert_non_null(v);
    v[0] = x;
    for (int i = 1; i <= LONG; i++) v[i] = gpuc_relay_var(ctx, "v", NULL);
    gpuc_rexpr *e = v[LONG];
    for (int i = LONG; i > 0; i--) e = gpuc_relay_let(ctx, v[i], apply2(ctx, "add", v[i - 1], v[i / 2]), e);
    free(v);
    gpuc_rmodule_add_function(m, "main", gpuc_relay_function(ctx, 1, &x, e, NULL));
    gpuc_relay_infer_module(ctx, m);
    gpuc_relay_validate_given(ctx, m);
}

/* ---- Rewrites ---- */

static gpuc_rexpr *nothing(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *rebuilt, void *arg)
{
    (void)ctx;
    (void)old;
    ++*(int *)arg;
    return rebuilt;
}

static bool is_call_of(const gpuc_rexpr *e, const char *op)
{
    const char *name = gpuc_relay_get_name(e);
    return gpuc_relay_get_kind(e) == GPUC_REXPR_CALL && name && !strcmp(name, op);
}

static gpuc_rexpr *subtract(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *rebuilt, void *arg)
{
    (void)arg;
    if (!is_call_of(old, "add")) return rebuilt;
    return apply2(ctx, "subtract", gpuc_relay_operand(rebuilt, 1), gpuc_relay_operand(rebuilt, 2));
}

static const char scopes_text[] =
    "def @f(%x: int32, %b: bool) -> (int32, int32) {\n"
    "  let %g = fn (%y: int32) -> int32 { if (%y < 1) { %y + %x } else { %g(%y - 1) } };\n"
    "  %0 = %x + 1;\n"
    "  let %p = (%0, (%g(%0), %b));\n"
    "  match (%p) { (%u, (%v, _)) => (%u + %v, %u + %v) }\n"
    "}\n"
    "def @main(%x: int32) { @f(%x, True).0 }\n";

static void rewrites_of_nothing(gpuc_ctx *ctx, void *arg)
{
    int count = 0;
    (void)arg;
    gpuc_rmodule *m = gpuc_relay_parse(ctx, scopes_text, "text", NULL),
                 *same = gpuc_rmodule_mutate(m, nothing, &count);
    seen s = {0};
    gpuc_rmodule_visit(m, note, &s);
    assert_int_equal(count, s.all);
    assert_ptr_equal(gpuc_rmodule_get(same, "f"), gpuc_rmodule_get(m, "f"));
    assert_ptr_equal(gpuc_rmodule_get(same, "main"), gpuc_rmodule_get(m, "main"));
}

static void an_operator_in_all_scopes(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rmodule *m = gpuc_relay_parse(ctx, scopes_text, "text", NULL);
    const char *before = gpuc_relay_text(ctx, m, GPUC_RELAY_PRINT_TYPES);
    gpuc_rmodule *after = gpuc_rmodule_mutate(m, subtract, NULL);
    gpuc_relay_validate_given(ctx, after);
    gpuc_relay_validate_given(ctx, m);
    assert_string_equal(gpuc_relay_text(ctx, m, GPUC_RELAY_PRINT_TYPES), before);
    seen s = {0}, t = {0};
    gpuc_rmodule_visit(m, note, &s);
    gpuc_rmodule_visit(after, note, &t);
    assert_memory_equal(s.kinds, t.kinds, sizeof s.kinds); /* sharing is kept: no node became two */
    const char *text = gpuc_relay_text(ctx, after, 0);
    assert_null(strstr(text, "add("));
    assert_string_equal(gpuc_relay_text(ctx, gpuc_relay_parse(ctx, text, "again", NULL), 0), text);
}

/* Element types change everywhere: those of variables that are written by hand, others by inference. */
static gpuc_rexpr *to_int64(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *rebuilt, void *arg)
{
    gpuc_rexpr **param = arg;
    if (old == param[0]) return param[1];
    if (gpuc_relay_get_kind(old) == GPUC_REXPR_CONSTANT)
        return gpuc_relay_const_scalar(ctx, GPUC_INT64, *(const int32_t *)gpuc_relay_get_bytes(old));
    return rebuilt;
}

static void types_of_variables_follow(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rmodule *m = gpuc_relay_parse(ctx,
                                       "def @main(%x: int32) { let %y = %x + 1; let %p = (%y, %y);\n"
                                       "  match (%p) { (%a, %b) => %a * %b } }",
                                       "text", NULL);
    gpuc_rexpr *pair[] = {gpuc_relay_operand(gpuc_rmodule_get(m, "main"), 0),
                          gpuc_relay_var(ctx, "wide", scalar(ctx, GPUC_INT64))};
    gpuc_rmodule *wide = gpuc_rmodule_mutate(m, to_int64, pair);
    assert_string_equal(gpuc_rmodule_function_type(ctx, wide, "main"), "fn (int64) -> int64");
    assert_string_equal(gpuc_rmodule_function_type(ctx, m, "main"), "fn (int32) -> int32");
    assert_string_equal(gpuc_rmodule_param_name(wide, "main", 0), "wide");
}

/* The prelude, and tensor arrays: types are found again, and are the same. */
static void whole_programs_are_rebuilt(gpuc_ctx *ctx, void *arg)
{
    static const char *const texts[] = {"import \"prelude.rly\"", "import \"tensor_array[float32]\"",
                                        "import \"static_tensor_array[Tensor[(2, ?), int8]]\"", scopes_text};
    (void)arg;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        gpuc_rmodule *m = gpuc_relay_parse(ctx, texts[i], "text", NULL), *again = copy_of(m);
        gpuc_relay_validate_given(ctx, m);
        gpuc_relay_validate_given(ctx, again);
        assert_string_equal(gpuc_relay_text(ctx, again, GPUC_RELAY_PRINT_TYPES),
                            gpuc_relay_text(ctx, m, GPUC_RELAY_PRINT_TYPES));
        seen s = {0}, t = {0};
        gpuc_rmodule_visit(m, note, &s);
        gpuc_rmodule_visit(again, note, &t);
        assert_memory_equal(s.kinds, t.kinds, sizeof s.kinds);
    }
}

static gpuc_rexpr *constant_for_variable(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *rebuilt, void *arg)
{
    (void)arg;
    return gpuc_relay_get_kind(old) == GPUC_REXPR_VAR ? number(ctx, 7) : rebuilt;
}

static gpuc_rexpr *give_null(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *rebuilt, void *arg)
{
    (void)ctx;
    (void)arg;
    return is_call_of(old, "add") ? NULL : rebuilt;
}

static gpuc_rexpr *half(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *rebuilt, void *arg)
{
    (void)arg;
    return gpuc_relay_get_kind(old) == GPUC_REXPR_CONSTANT ? gpuc_relay_const_scalar(ctx, GPUC_FLOAT16, 1)
                                                           : rebuilt;
}

static gpuc_relay_rewrite_fn bad_rewrite;

static void rewrite_badly(gpuc_ctx *ctx, void *arg)
{
    gpuc_rmodule_mutate(gpuc_relay_parse(ctx, scopes_text, "text", NULL), bad_rewrite, arg);
}

static void what_rewrites_break(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    bad_rewrite = constant_for_variable;
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "a constant cannot stand for %|where that is bound", rewrite_badly,
              NULL);
    bad_rewrite = give_null;
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "the rewrite of the call of add gives NULL", rewrite_badly, NULL);
    bad_rewrite = half;
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "text:|float16", rewrite_badly, NULL);
}

/* ---- Parameters ---- */

typedef struct bound {
    gpuc_rexpr *f, *value;
    const char *name;
} bound;

static void bind(gpuc_ctx *ctx, void *arg)
{
    bound *b = arg;
    b->f = gpuc_relay_bind_params(ctx, b->f, 1, &b->name, &b->value);
}

static void parameters_by_name(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rmodule *m = gpuc_relay_parse(
        ctx, "def @main(%x: int32, %w: int32) { let %f = fn (%y: int32) { %y * %w }; %f(%x) + %w }", "text",
        NULL);
    bound b = {gpuc_rmodule_get(m, "main"), number(ctx, 5), "w"};
    bind(ctx, &b);
    gpuc_rmodule_replace_function(m, "main", b.f);
    gpuc_relay_infer_module(ctx, m);
    assert_string_equal(gpuc_relay_text(ctx, m, 0), "def @main(%x: int32) {\n"
                                                    "  let %f = fn (%y: int32) {\n"
                                                    "    multiply(%y, 5)\n"
                                                    "  };\n"
                                                    "  %0 = %f(%x);\n"
                                                    "  add(%0, 5)\n"
                                                    "}\n");
    fx_expect(ctx, GPUC_NOT_FOUND, "no parameter 'w'", bind, &b);
    b.name = "x";
    b.value = gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, 5);
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "parameter 'x' is int32, the constant float32", bind, &b);
    b.value = b.f;
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "parameter 'x': a constant is expected, not a function", bind, &b);
    b.f = number(ctx, 1);
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "a function is expected, not a constant", bind, &b);
}

static void names_that_no_text_has(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *params[] = {gpuc_relay_var(ctx, "base/x", scalar(ctx, GPUC_INT32)),
                            gpuc_relay_var(ctx, "base_x", scalar(ctx, GPUC_INT32)),
                            gpuc_relay_var(ctx, "7 up", scalar(ctx, GPUC_INT32))};
    gpuc_rexpr *two[] = {gpuc_relay_apply(ctx, "subtract", NULL, 2, params), params[2]};
    gpuc_rmodule *m = gpuc_rmodule_create(ctx);
    gpuc_rmodule_add_function(
        m, "main", gpuc_relay_function(ctx, 3, params, gpuc_relay_apply(ctx, "add", NULL, 2, two), NULL));
    gpuc_relay_infer_module(ctx, m);
    const char *text = gpuc_relay_text(ctx, m, 0);
    if (strchr(text, '/') || !strstr(text, "%base_x")) fail_msg("%s", text);
    gpuc_rmodule *again = gpuc_relay_parse(ctx, text, "printed", NULL);
    assert_string_equal(gpuc_relay_text(ctx, again, 0), text);
    assert_true(gpuc_relay_equal(ctx, gpuc_rmodule_get(again, "main"), gpuc_rmodule_get(m, "main")));
}

static void bind_two(gpuc_ctx *ctx, void *arg)
{
    static const char *const names[] = {"v", "w"};
    gpuc_rmodule *m = gpuc_relay_parse(ctx,
                                       "def @main(%x: Tensor[(n,), int64], %v: Tensor[(n,), int64], %w: "
                                       "Tensor[(n,), int64]) { %x + %v * %w }",
                                       "text", NULL);
    gpuc_rexpr *values[] = {gpuc_relay_const_ints(ctx, 2, (const int64_t[]){5, 6}),
                            gpuc_relay_const_ints(ctx, *(const int *)arg, (const int64_t[]){7, 8, 9})};
    gpuc_rexpr *f = gpuc_relay_bind_params(ctx, gpuc_rmodule_get(m, "main"), 2, names, values);
    gpuc_rmodule_replace_function(m, "main", f);
    gpuc_relay_infer_module(ctx, m);
    assert_int_equal(gpuc_as_rfunction(gpuc_rmodule_get(m, "main"))->n, 1);
}

static void parameters_of_named_sizes(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    bind_two(ctx, &(int){2});
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "parameter 'w': 'n' is 3 in its constant, and 2 in that of",
              bind_two, &(int){3});
}

static void bind_sized(gpuc_ctx *ctx, void *arg)
{
    static const char *const names[] = {"v", "w"};
    const int *counts = arg;
    gpuc_rmodule *m = gpuc_relay_parse(
        ctx,
        "def @main(%x: Tensor[(n, m), int64], %w: Tensor[(2 * n), int64], %v: Tensor[(n), int64]) -> "
        "Tensor[(n, m), int64] {\n"
        "  let %z: Tensor[(m, n), int64] = broadcast_to(%v, shape=[m, n]);\n"
        "  let %f = fn (%y: Tensor[(n, m), int64]) -> Tensor[(n, m), int64] { %y + transpose(%z) };\n"
        "  %f(%x) + reshape(take(%w, zeros(shape=[n], dtype=\"int64\")), newshape=[n, 1])\n"
        "}",
        "text", NULL);
    gpuc_rexpr *values[2];
    for (int i = 0; i < 2 && counts[i]; i++)
        values[i] = gpuc_relay_const_ints(ctx, counts[i], (const int64_t[]){7, 8, 9, 10, 11, 12});
    gpuc_rexpr *f =
        gpuc_relay_bind_params(ctx, gpuc_rmodule_get(m, "main"), counts[1] ? 2 : 1, names, values);
    gpuc_rmodule_replace_function(m, "main", f);
    gpuc_relay_infer_module(ctx, m);
    const char *text = gpuc_relay_text(ctx, m, 0);
    if (strstr(text, "(n") || strstr(text, "n)") || strstr(text, "[n") || strstr(text, "n]") ||
        !strstr(text, "%x: Tensor[(3, m), int64]") || (!counts[1] && !strstr(text, "%w: Tensor[(6), int64]")))
        fail_msg("%s", text);
}

/* Sizes that constants give are numbers wherever they stand. */
static void named_sizes_become_numbers(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    bind_sized(ctx, (int[]){3, 0});
    bind_sized(ctx, (int[]){3, 6});
    fx_expect(ctx, GPUC_INVALID_ARGUMENT,
              "parameter 'w' is Tensor[(6), int64], the constant Tensor[(5), int64]", bind_sized,
              (int[]){3, 5});
}

/* What nobody knew without the constant: also where attributes of nodes behind name it. */
static void extents_become_numbers(gpuc_ctx *ctx, void *arg)
{
    static const char *const name = "h";
    (void)arg;
    gpuc_rmodule *m = gpuc_relay_parse(
        ctx,
        "def @main(%x: Tensor[(1, 1, 4, 3), float32], %h: float32, %k: int64) {\n"
        "  let %y = dyn.nn.upsampling(%x, %h, 2f);\n"
        "  let %z = strided_slice(%y, begin=[0, 0, 1, 0], end=[1, 1, 9, 5]);\n"
        "  (%z + 1f, strided_slice(arange(0f, %h, 0.5f), begin=[1], end=[9]), arange(0i64, %k, 1i64))\n"
        "}",
        "text", NULL);
    gpuc_rexpr *value = gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, 1.5);
    gpuc_rexpr *f = gpuc_relay_bind_params(ctx, gpuc_rmodule_get(m, "main"), 1, &name, &value);
    gpuc_rmodule_replace_function(m, "main", f);
    gpuc_relay_infer_module(ctx, m);
    assert_string_equal(
        gpuc_relay_rtype_text(ctx, gpuc_as_rfunction(gpuc_rmodule_get(m, "main"))->body->type),
        "(Tensor[(1, 1, 5, 5), float32], Tensor[(2), float32], Tensor[(?), int64])");
    const char *text = gpuc_relay_text(ctx, m, 0);
    if (strchr(text, '?')) fail_msg("%s", text);
}

/* Symbols of one name are two sizes, and one in text: the second gets another name there. */
static void sizes_of_one_name(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr n = gpuc_var(ctx, "n", GPUC_INDEX), other = gpuc_var(ctx, "n", GPUC_INDEX),
              twice = gpuc_mul(ctx, other, gpuc_int(ctx, 2)), third = gpuc_var(ctx, "n_1", GPUC_INDEX);
    gpuc_rexpr *params[] = {gpuc_relay_var(ctx, "x", gpuc_relay_rtype_tensor(ctx, GPUC_FLOAT32, 1, &n)),
                            gpuc_relay_var(ctx, "y", gpuc_relay_rtype_tensor(ctx, GPUC_FLOAT32, 1, &other)),
                            gpuc_relay_var(ctx, "z", gpuc_relay_rtype_tensor(ctx, GPUC_FLOAT32, 1, &third))};
    gpuc_rexpr *fields[] = {
        params[0],
        gpuc_relay_op(ctx, "broadcast_to", gpuc_attrs_sizes(ctx, NULL, "shape", 1, &twice), 1, &params[1]),
        params[2]};
    gpuc_rmodule *m = gpuc_rmodule_create(ctx);
    gpuc_rmodule_add_function(m, "main",
                              gpuc_relay_function(ctx, 3, params, gpuc_relay_tuple(ctx, 3, fields), NULL));
    gpuc_relay_infer_module(ctx, m);
    const char *text = gpuc_relay_text(ctx, m, 0);
    assert_string_equal(text, "def @main(%x: Tensor[(n), float32], %y: Tensor[(n_1), float32], "
                              "%z: Tensor[(n_1_1), float32]) {\n"
                              "  %0 = broadcast_to(%y, shape=[n_1*2]);\n"
                              "  (%x, %0, %z)\n"
                              "}\n");
    assert_string_equal(gpuc_relay_text(ctx, gpuc_relay_parse(ctx, text, "printed", NULL), 0), text);
}

static void two_parameters_of_a_name(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *params[] = {gpuc_relay_var(ctx, "a", scalar(ctx, GPUC_INT32)),
                            gpuc_relay_var(ctx, "a", scalar(ctx, GPUC_INT32))};
    gpuc_rexpr *f = gpuc_relay_function(ctx, 2, params, gpuc_relay_apply(ctx, "add", NULL, 2, params), NULL);
    bound b = {f, number(ctx, 5), "a"};
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "two parameters of the function are 'a'", bind, &b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fx_test(functions_with_type_parameters),
        fx_test(all_the_rest_of_the_language),
        fx_test(wrong_programs),
        fx_test(wrong_calls),
        fx_test(refused_types_leave_nothing),
        fx_test(type_parameters_of_one_name),
        fx_test(visits_see_every_scope_once),
        fx_test(a_walk_finds_type_variables),
        fx_test(long_chains_of_lets),
        fx_test(rewrites_of_nothing),
        fx_test(an_operator_in_all_scopes),
        fx_test(types_of_variables_follow),
        fx_test(whole_programs_are_rebuilt),
        fx_test(what_rewrites_break),
        fx_test(parameters_by_name),
        fx_test(parameters_of_named_sizes),
        fx_test(named_sizes_become_numbers),
        fx_test(extents_become_numbers),
        fx_test(two_parameters_of_a_name),
        fx_test(sizes_of_one_name),
        fx_test(names_that_no_text_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
