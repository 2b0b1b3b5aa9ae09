/* SPDX-License-Identifier: Apache-2.0 */
/* Parses imports: the prelude, and tensor arrays of a type. */
#include <string.h>

#include "relay/parse.h"
#include "relay/prelude.h"

typedef struct import {
    gpuc_rmodule *module;
    const char *name, *text;
} import;

static void parse_imported(gpuc_ctx *ctx, void *arg)
{
    const import *i = arg;
    gpuc_relay_parse_text(ctx, i->module, i->text, i->name, NULL);
}

/* What is wrong in the imported text is wrong with the import: as a rule, the program has such a name already. */
static void import_text(gpuc_relay_parser *p, const gpuc_relay_token *at, const char *name, const char *text)
{
    if (gpuc_strmap_has(&p->module->imports, name)) return;
    gpuc_strmap_set(&p->module->imports, name, (void *)text);
import i = {p->module, name, text };
    gpuc_status status = gpuc_ctx_protect(p->ctx, parse_imported, &i);
    if (!status) return;
    if (gpuc_status_code(status) == GPUC_OUT_OF_MEMORY) gpuc_ctx_raise_status(p->ctx, status);
    const char *message = gpuc_ctx_strdup(p->ctx, gpuc_status_message(status));
    gpuc_status_release(status);
    gpuc_relay_parse_fail(p, at, "\"%s\" cannot be imported here: %.*s", name, (int)strcspn(message, "\n"),
                          message);
}

/* The type in the brackets of a name, which are part of the program's text: at is the token with the name in it. */
static const gpuc_rtype *parse_bracketed(gpuc_relay_parser *p, const gpuc_relay_token *at, size_t skip)
{
    gpuc_relay_lexer lexer = p->lexer;
    gpuc_relay_token token = p->token;
    gpuc_strmap symbols = p->symbols;
    p->lexer = (gpuc_relay_lexer){at->at + 1 + skip, at->at - (at->column - 1), at->line};
    gpuc_strmap_init(&p->symbols, p->ctx);
    gpuc_relay_parse_advance(p);
    const gpuc_rtype *t = gpuc_relay_parse_type(p);
    bool ends = gpuc_relay_parse_at(p, "]") && p->token.at == at->at + at->length - 2;
    bool named = p->symbols.map.count > 0;
    p->lexer = lexer;
    p->token = token;
    p->symbols = symbols;
    return ends && !named && t->kind == GPUC_RTYPE_TENSOR ? t : NULL;
}

/* "prelude.rly", "tensor_array[float32]", "static_tensor_array[Tensor[(2, ?), float32]]". */
void gpuc_relay_parse_import(gpuc_relay_parser *p)
{
    static const char whole[] = "prelude.rly", dynamic[] = "tensor_array[", fixed[] = "static_tensor_array[";
    gpuc_relay_token at = p->token;
    char *name = gpuc_relay_parse_string(p);
    bool is_dynamic = !strncmp(name, dynamic, strlen(dynamic)),
         is_fixed = !strncmp(name, fixed, strlen(fixed));
    if (!is_dynamic && !is_fixed && strcmp(name, whole))
        gpuc_relay_parse_fail(p, &at,
                              "'%s' cannot be imported, but \"prelude.rly\", \"tensor_array[float32]\" and "
                              "\"static_tensor_array[Tensor[(2, 3), float32]]\" can",
                              name);
    import_text(p, &at, whole, gpuc_relay_prelude_text);
    if (!is_dynamic && !is_fixed) return;
    const char *begin = is_fixed ? fixed : dynamic;
    const gpuc_rtype *t = parse_bracketed(p, &at, strlen(begin));
    if (!t || (is_dynamic && t->tensor.ndim))
        gpuc_relay_parse_fail(p, &at, "'%s' needs %s between its brackets", name,
                              is_fixed ? "the type of a tensor, without names," : "an element type");
    import_text(p, &at, gpuc_ctx_printf(p->ctx, "%s%s]", begin, gpuc_relay_rtype_text(p->ctx, t)),
                is_fixed ? gpuc_relay_prelude_static_tensors(p->module, &t->tensor)
                         : gpuc_relay_prelude_tensors(p->module, t->tensor.dtype));
}
