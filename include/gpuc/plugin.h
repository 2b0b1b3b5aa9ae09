/* SPDX-License-Identifier: Apache-2.0 */
/* Plug-ins: shared libraries that register with a runtime what others wrote: packed functions, types of modules,
 * operators, passes over Relay, templates for the tuner, kinds and tags of targets, code generators, devices. A plug-in
 * includes this header, defines gpuc_plugin_init, and is compiled as C or C++ with
 *
 *     cc -shared -fPIC $(pkg-config --cflags --libs gpuc) my_plugin.c -o my_plugin.so
 *
 * Program and plug-in must share one copy of gpuc: the program is linked with the shared library (libgpuc, or
 * libgpuc_runtime), and the plug-in with the same one, or with neither: then it finds the names in the program's, and
 * fits both. The program `gpuc` is linked with libgpuc. With --plugin FILE it registers the compiler's functions
 * (gpuc_compiler_register), then loads the plug-in. */
#ifndef GPUC_PLUGIN_H
#define GPUC_PLUGIN_H

#include <gpuc/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a plug-in exports stands behind it. */
#ifdef __GNUC__
#define GPUC_PLUGIN_VISIBLE_ __attribute__((visibility("default")))
#else
#define GPUC_PLUGIN_VISIBLE_
#endif
#ifdef __cplusplus
#define GPUC_PLUGIN_EXPORT extern "C" GPUC_PLUGIN_VISIBLE_
#else
#define GPUC_PLUGIN_EXPORT GPUC_PLUGIN_VISIBLE_
#endif

/* Defined by the plug-in: registers what it has with the runtime, whose thread calls it. Its first line is
 *
 *     GPUC_TRY(gpuc_plugin_check_abi(abi));
 *
 * It is called once for each runtime that loads the plug-in, and several may live in one process: what it keeps
 * belongs to a runtime (self of a function, state of a module). If it fails, nothing of what it has
 * registered stays, but for drivers whose devices it has opened. */
GPUC_PLUGIN_EXPORT gpuc_status gpuc_plugin_init(gpuc_runtime *rt, uint32_t abi);

/* An error unless the program's number is that of the headers that the plug-in was compiled with. */
GPUC_NODISCARD static inline gpuc_status gpuc_plugin_check_abi(uint32_t abi)
{
    if (abi == GPUC_ABI_VERSION) return NULL;
    return gpuc_fail(
        GPUC_UNSUPPORTED,
        "it was compiled for version %u of gpuc's binary interface, and this gpuc has version %u; "
        "compile it again with the headers of this gpuc",
        (unsigned)GPUC_ABI_VERSION, (unsigned)abi);
}

/* Loads a plug-in and calls its gpuc_plugin_init. A path without a slash is that of a file in the working directory;
 * if there is none of that name, it is looked for where the system looks for libraries. The runtime keeps the
 * library until nothing holds the runtime any more, and closes it last: whoever drops the last reference of an object
 * of this runtime may not be code of the plug-in. A status that the plug-in made may be kept for longer.
 *
 * NOT_FOUND if there is no such file; INVALID_DATA if it is no shared library, lacks gpuc_plugin_init, or needs what is
 * not there; INVALID_ARGUMENT if this runtime has loaded it before (unless that failed); UNSUPPORTED if it would use another copy of gpuc
 * than the program; else what gpuc_plugin_init gave. All say the path. As for the registry: not beside other threads
 * that use the runtime. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_plugin_load(gpuc_runtime *rt, const char *path);

#ifdef __cplusplus
}
#endif
#endif
