/* SPDX-License-Identifier: Apache-2.0 */
/* The source of a library: that of the modules of code that it imports. */
#include <string.h>

#include "library/library.h"

/* Sources of several parts. */
typedef struct sources {
    gpuc_loaded_library *library;
    const char *form;
    gpuc_buf text;
    gpuc_value bytes; /* of the one part that gave bytes */
    uint32_t num_parts;
} sources;

static gpuc_status add(sources *s, uint32_t module, const char *kernel)
{
    gpuc_value part;
    if (!s->library->code_modules[module]) return NULL;
    GPUC_TRY(gpuc_module_get_source(s->library->code_modules[module], s->form, kernel, &part));
    s->num_parts++;
    if (part.kind == GPUC_VALUE_BYTES && s->bytes.kind == GPUC_VALUE_NULL) {
        s->bytes = part;
        return NULL;
    }
    /* Several kernels may be of one program. */
    if (part.kind == GPUC_VALUE_STRING && !strstr(gpuc_buf_cstr(&s->text), part.as.string))
        gpuc_buf_str(&s->text, part.as.string);
    gpuc_value_clear(s->library->rt, &part);
    return gpuc_buf_status(&s->text);
}

static gpuc_status add_all(sources *s)
{
    for (uint32_t i = 0; i < s->library->program->num_modules; i++) GPUC_TRY(add(s, i, NULL));
    return NULL;
}

static gpuc_status add_function(sources *s, const char *function)
{
    const gpuc_program *p = s->library->program;
    uint32_t i = 0;
    while (i < p->num_entries && strcmp(p->entries[i].name, function) != 0) i++;
    if (i == p->num_entries)
        return gpuc_fail(GPUC_NOT_FOUND, "the library has no function '%.64s'", function);
    for (uint32_t k = 0; k < p->entries[i].num_steps; k++) {
        uint32_t chosen = s->library->code.chosen[p->entries[i].steps[k].kernel];
        GPUC_TRY(add(s, p->kernels[chosen].module, p->kernels[chosen].name));
    }
    return NULL;
}

static gpuc_status finish(sources *s, gpuc_value *out)
{
    if (s->bytes.kind == GPUC_VALUE_NULL)
        return gpuc_value_set_string(s->library->rt, out, gpuc_buf_cstr(&s->text));
    if (s->num_parts > 1)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "the source has %u parts that are no text; ask the modules that the library imports",
                         s->num_parts);
    *out = s->bytes;
    s->bytes = (gpuc_value){0};
    return NULL;
}

gpuc_status gpuc_library_loaded_source(gpuc_module *m, const char *form, const char *function,
                                       gpuc_value *out)
{
    gpuc_loaded_library *l = gpuc_module_state(m);
    sources s = {.library = l, .form = form};
    gpuc_buf_init(&s.text, gpuc_runtime_allocator(l->rt));
    gpuc_status status = function ? add_function(&s, function) : add_all(&s);
    if (!status) status = finish(&s, out);
    gpuc_buf_deinit(&s.text);
    gpuc_value_clear(l->rt, &s.bytes);
    return status;
}
