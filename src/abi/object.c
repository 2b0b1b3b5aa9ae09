/* SPDX-License-Identifier: Apache-2.0 */
/* Reads which functions a shared object (ELF) gives to others. */
#include <elf.h>
#include <string.h>

#include "abi/code.h"

typedef struct object {
    const uint8_t *bytes;
    size_t size;
    bool wide; /* of 64 bits */
} object;

static gpuc_status damaged(const char *what)
{
    return gpuc_fail(GPUC_INVALID_DATA, "the shared object's %s lies outside of it", what);
}

static const void *at(const object *o, uint64_t offset, uint64_t size)
{
    return offset <= o->size && size <= o->size - offset ? o->bytes + offset : NULL;
}

/* Section i, with the fields of both classes in those of 64 bits. */
static bool read_section(const object *o, uint64_t table, uint32_t i, Elf64_Shdr *out)
{
    size_t size = o->wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
    Elf32_Shdr narrow;
    if (table > o->size) return false;
    const void *p = at(o, table + (uint64_t)i * size, size);
    if (!p) return false;
    if (o->wide) {
        memcpy(out, p, size);
        return true;
    }
    memcpy(&narrow, p, size);
    *out = (Elf64_Shdr){.sh_type = narrow.sh_type,
                        .sh_offset = narrow.sh_offset,
                        .sh_size = narrow.sh_size,
                        .sh_link = narrow.sh_link};
    return true;
}

static Elf64_Sym read_symbol(const object *o, const void *p)
{
    Elf64_Sym wide;
    Elf32_Sym narrow;
    if (o->wide) {
        memcpy(&wide, p, sizeof wide);
        return wide;
    }
    memcpy(&narrow, p, sizeof narrow);
    return (Elf64_Sym){.st_name = narrow.st_name, .st_info = narrow.st_info, .st_shndx = narrow.st_shndx};
}

static bool is_given(const Elf64_Sym *s, const char *name)
{
    return ELF64_ST_TYPE(s->st_info) == STT_FUNC && ELF64_ST_BIND(s->st_info) == STB_GLOBAL &&
           s->st_shndx != SHN_UNDEF && strcmp(name, "_init") != 0 && strcmp(name, "_fini") != 0;
}

static gpuc_status list_symbols(const object *o, const Elf64_Shdr *symbols, const Elf64_Shdr *texts,
                                gpuc_arena *arena, uint32_t *out_count, const char *const **out_names)
{
    size_t item = o->wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    const uint8_t *table = at(o, symbols->sh_offset, symbols->sh_size);
    const char *text = at(o, texts->sh_offset, texts->sh_size);
    if (!table) return damaged("table of symbols");
    if (!text || !texts->sh_size || text[texts->sh_size - 1]) return damaged("table of names");
    size_t count = symbols->sh_size / item;
    const char **names = gpuc_arena_alloc_array(arena, count, sizeof *names);
    if (!names) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for %zu names", count);
    for (size_t i = 0; i < count; i++) {
        Elf64_Sym s = read_symbol(o, table + i * item);
        if (s.st_name >= texts->sh_size) return damaged("name of a symbol");
        if (!is_given(&s, text + s.st_name)) continue;
        names[*out_count] = gpuc_arena_strdup(arena, text + s.st_name);
        if (!names[(*out_count)++]) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a name");
    }
    *out_names = names;
    return NULL;
}

gpuc_status gpuc_abi_object_functions(const void *bytes, size_t size, gpuc_arena *arena, uint32_t *out_count,
                                      const char *const **out_names)
{
    object o = {.bytes = bytes, .size = size};
    Elf64_Ehdr wide;
    Elf32_Ehdr narrow;
    *out_count = 0;
    *out_names = NULL;
    if (size < sizeof narrow || memcmp(bytes, ELFMAG, SELFMAG) != 0)
        return gpuc_fail(GPUC_INVALID_DATA, "it is no ELF shared object");
    o.wide = o.bytes[EI_CLASS] == ELFCLASS64;
    if (o.wide && size < sizeof wide) return damaged("header");
    memcpy(&narrow, bytes, sizeof narrow);
    if (o.wide) memcpy(&wide, bytes, sizeof wide);
    uint64_t table = o.wide ? wide.e_shoff : narrow.e_shoff;
    uint32_t count = o.wide ? wide.e_shnum : narrow.e_shnum;
    for (uint32_t i = 0; i < count; i++) {
        Elf64_Shdr section, texts;
        if (!read_section(&o, table, i, &section)) return damaged("table of sections");
        if (section.sh_type != SHT_DYNSYM) continue;
        if (section.sh_link >= count || !read_section(&o, table, section.sh_link, &texts))
            return damaged("table of names");
        return list_symbols(&o, &section, &texts, arena, out_count, out_names);
    }
    return NULL;
}
