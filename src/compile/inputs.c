/* SPDX-License-Identifier: Apache-2.0 */
/* The inputs of a module, before it is a package. */
#include <gpuc/build.h>

#include "compile/image.h"
#include "relay_pass/common/util.h"

int gpuc_rmodule_num_inputs(const gpuc_rmodule *m)
{
    return gpuc_as_rfunction(gpuc_rmodule_get(m, "main"))->n;
}

gpuc_tensor_info gpuc_rmodule_input(gpuc_ctx *ctx, const gpuc_rmodule *m, int i)
{
    const gpuc_rfunction *main = gpuc_as_rfunction(gpuc_rmodule_get(m, "main"));
    if (i < 0 || i >= main->n)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "the module has %d inputs; there is no number %d", main->n, i);
    gpuc_relay_pass_need_tensors(ctx, main, "@main");
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(main->params[i]);
    int64_t *dims = gpuc_new_array(ctx, int64_t, t->ndim);
    const char **names = gpuc_new_array(ctx, const char *, t->ndim);
    for (int k = 0; k < t->ndim; k++) {
        bool fixed = gpuc_expr_is_int(t->dims[k], &dims[k]);
        if (!fixed) dims[k] = -1;
        names[k] = fixed ? "" : gpuc_expr_text(ctx, t->dims[k]);
    }
    const char *name = gpuc_as_rvar(main->params[i])->name;
    return (gpuc_tensor_info){.name = name,
                              .dtype = t->dtype,
                              .ndim = t->ndim,
                              .dims = dims,
                              .dim_names = names,
                              .has_default = gpuc_strmap_has(&m->defaults, name),
                              .image = gpuc_image_of(&m->input_images, name)};
}
