/* SPDX-License-Identifier: Apache-2.0 */
/* Parses imports: the prelude, and tensor arrays of a type. */
#include <string.h>

#include "relay/parse.h"
#include "relay/prelude.h"

static void import_text(gpuc_relay_parser *p, const char *name, const char *text)
{
    if (gpuc_strmap_has(&p->module->imports, name)) return;
    gpuc_strmap_set(&p->module->imports, name, (void *)text);
    gpuc_relay_parse_text(p->ctx, p->module, text, name, NULL);
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
    import_text(p, whole, gpuc_relay_prelude_text);
    if (!is_dynamic && !is_fixed) return;
    gpuc_relay_parser inner = {.ctx = p->ctx, .module = p->module, .text = p->text};
    inner.lexer = (gpuc_relay_lexer){name + strlen(is_fixed ? fixed : dynamic), name, at.line};
    gpuc_strmap_init(&inner.types, p->ctx);
    gpuc_strmap_init(&inner.symbols, p->ctx);
    gpuc_relay_parse_advance(&inner);
    const gpuc_rtype *t = gpuc_relay_parse_type(&inner);
    bool named = inner.symbols.map.count > 0, ends = gpuc_relay_parse_accept(&inner, "]");
    if (t->kind != GPUC_RTYPE_TENSOR || (is_dynamic && t->tensor.ndim) || named || !ends ||
        inner.token.kind != GPUC_RELAY_TOKEN_END)
        gpuc_relay_parse_fail(p, &at, "'%s' needs %s between its brackets", name,
                              is_fixed ? "the type of a tensor, without names," : "an element type");
    import_text(p, name,
                is_fixed ? gpuc_relay_prelude_static_tensors(p->module, &t->tensor)
                         : gpuc_relay_prelude_tensors(p->module, t->tensor.dtype));
}
