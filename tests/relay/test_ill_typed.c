/* SPDX-License-Identifier: Apache-2.0 */
/* test_relay_ill_typed FILE [NEW]: programs with one mistake each, and what is said of it, with its place: FILE holds
 * both, "====", the program, "----", the message. NEW: the file as it would be now is written there. */
#include "fixture.h"

typedef struct row {
    const char *text;
    const gpuc_rmodule *lists;
} row;

static const char *golden, *made;

/* What the programs may use. */
static const char list_text[] =
    "type List[A] { Cons(A, List[A]), Nil }\n"
    "def @map[A, B](%f: fn(A) -> B, %xs: List[A]) -> List[B] {\n"
    "  match (%xs) { Cons(%x, %rest) => Cons(%f(%x), @map(%f, %rest)), Nil => Nil }\n"
    "}\n"
    "def @foldl[A, B](%f: fn(A, B) -> A, %acc: A, %xs: List[B]) -> A {\n"
    "  match (%xs) { Cons(%x, %rest) => @foldl(%f, %f(%acc, %x), %rest), Nil => %acc }\n"
    "}\n"
    "def @compose[A, B, C](%f: fn(B) -> C, %g: fn(A) -> B) { fn (%x: A) -> C { %f(%g(%x)) } }\n";

static void parse(gpuc_ctx *ctx, void *arg)
{
    const row *r = arg;
    gpuc_relay_parse(ctx, r->text, "text", r->lists);
}

/* One program after "====\n", up to "----\n"; its message is added. Gives where the next begins, or the end. */
static const char *run_one(gpuc_ctx *ctx, const char *at, const gpuc_rmodule *lists, gpuc_buf *out)
{
    const char *end = strstr(at, "\n----\n"), *next = end ? strstr(end, "\n====\n") : NULL;
    assert_non_null(end);
    row r = {gpuc_ctx_printf(ctx, "%.*s", (int)(end - at), at), lists};
    gpuc_status status = gpuc_ctx_protect(ctx, parse, &r);
    if (!status) fail_msg("nothing is said of\n%s", r.text);
    gpuc_buf_printf(out, "====\n%s\n----\n%s\n", r.text, gpuc_status_message(status));
    gpuc_status_release(status);
    const char *heading = strstr(end, "\n# ");
    if (heading && (!next || heading < next))
        gpuc_buf_printf(out, "%.*s\n", (int)strcspn(heading + 1, "\n"), heading + 1);
    return next ? next + strlen("\n====\n") : NULL;
}

static void what_is_said(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    char *want = fx_read_file(golden);
    int count = 0;
    gpuc_buf out;
    gpuc_buf_init(&out, ctx->allocator);
    const gpuc_rmodule *lists = gpuc_relay_parse(ctx, list_text, "lists", NULL);
    const char *first = strstr(want, "====\n");
    gpuc_buf_printf(&out, "%.*s", (int)(first - want), want);
    for (const char *at = first + strlen("====\n"); at; count++) at = run_one(ctx, at, lists, &out);
    fx_check_file(golden, want, gpuc_buf_cstr(&out), made);
    printf("cases: %d (programs)\n", count);
    gpuc_buf_deinit(&out);
    free(want);
}

int main(int argc, char **argv)
{
    golden = argc > 1 ? argv[1] : "";
    made = argc > 2 ? argv[2] : NULL;
    const struct CMUnitTest tests[] = {fx_test(what_is_said)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
