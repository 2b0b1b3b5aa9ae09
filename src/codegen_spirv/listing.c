/* SPDX-License-Identifier: Apache-2.0 */
/* SPIR-V as text: assembly by SPIRV-Tools; in a build without it, the words. */
#include "codegen_spirv/emit.h"

#include <gpuc/config.h>

#if GPUC_HAVE_SPIRV_TOOLS

/* The header defines it in every C file that includes it. */
#define kDefaultMaxIdBound gpuc_spv_default_max_id_bound
#include <spirv-tools/libspirv.h>

gpuc_status gpuc_spv_assembly(const uint32_t *words, size_t count, gpuc_buf *out)
{
    spv_text text = NULL;
    spv_diagnostic why = NULL;
    spv_context context = spvContextCreate(SPV_ENV_UNIVERSAL_1_6);
    if (!context) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a listing of SPIR-V");
    uint32_t options = SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES | SPV_BINARY_TO_TEXT_OPTION_INDENT |
                       SPV_BINARY_TO_TEXT_OPTION_NO_HEADER;
    spv_result_t result = spvBinaryToText(context, words, count, options, &text, &why);
    gpuc_status status = NULL;
    if (result == SPV_SUCCESS)
        gpuc_buf_bytes(out, text->str, text->length);
    else
        status =
            gpuc_fail(GPUC_INVALID_DATA, "SPIRV-Tools: %s", why && why->error ? why->error : "no reason");
    spvTextDestroy(text);
    spvDiagnosticDestroy(why);
    spvContextDestroy(context);
    return status;
}

#else

gpuc_status gpuc_spv_assembly(const uint32_t *words, size_t count, gpuc_buf *out)
{
    (void)words, (void)count, (void)out;
    return gpuc_fail(GPUC_UNSUPPORTED,
                     "this build has no assembly of SPIR-V: it was made without SPIRV-Tools");
}

#endif

void gpuc_spv_print(gpuc_ctx *ctx, const uint32_t *words, size_t count, gpuc_buf *out)
{
    enum { PER_LINE = 8 };
    if (GPUC_HAVE_SPIRV_TOOLS) {
        GPUC_RAISE_IF(ctx, gpuc_spv_assembly(words, count, out));
        return;
    }
    for (size_t i = 0; i < count; i++)
        gpuc_buf_printf(out, "%08x%c", words[i], i % PER_LINE == PER_LINE - 1 || i + 1 == count ? '\n' : ' ');
}
