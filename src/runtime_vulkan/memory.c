/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory: large blocks per memory type, cut into spans by best fit. Every resource is a
 * buffer, so that bufferImageGranularity does not matter. A block grows with its pool, from 4 MiB to
 * 64 MiB; what is larger than half a block gets a VkDeviceMemory of its own. */
#include "base/size.h"
#include "runtime_vulkan/device.h"

#define FIRST_BLOCK ((VkDeviceSize)4 << 20)
#define FULL_BLOCK ((VkDeviceSize)64 << 20)
#define SPAN_ALIGN 256

/* ---- Which memory type ---------------------------------------------------------------------- */

static VkDeviceSize largest_local_heap(const VkPhysicalDeviceMemoryProperties *m)
{
    VkDeviceSize largest = 0;
    for (uint32_t i = 0; i < m->memoryHeapCount; i++)
        if ((m->memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) && m->memoryHeaps[i].size > largest)
            largest = m->memoryHeaps[i].size;
    return largest;
}

/* 0: not for this use. */
static int score(const gpuc_vk_device *dev, uint32_t type, gpuc_vk_use use)
{
    const VkPhysicalDeviceMemoryProperties *m = &dev->caps.memory;
    const VkMemoryPropertyFlags usual =
        VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
        VK_MEMORY_PROPERTY_HOST_COHERENT_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    VkMemoryPropertyFlags f = m->memoryTypes[type].propertyFlags;
    if (f & ~usual) return 0; /* protected, lazily allocated, uncached by the device, ... */
    bool local = (f & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT) != 0;
    bool visible = (f & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) != 0;
    bool coherent = (f & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT) != 0;
    bool cached = (f & VK_MEMORY_PROPERTY_HOST_CACHED_BIT) != 0;
    /* A small host-visible heap is a window into a card's memory; if all of it is visible, the host writes there
     * without a copy. */
    bool large = m->memoryHeaps[m->memoryTypes[type].heapIndex].size >= largest_local_heap(m) / 2;
    switch (use) {
    case GPUC_VK_USE_TENSOR:
        if (local && visible && large) return 40 + 2 * coherent + cached;
        if (local && !visible) return 30;
        if (local) return 20;
        /* Host memory is behind a bus: reporting that the card is full is better. */
        return dev->caps.props.deviceType == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU ? 0 : 10;
    case GPUC_VK_USE_STAGING:
        if (!visible) return 0;
        return 10 + 4 * cached + 2 * coherent + !local;
    case GPUC_VK_USE_UNIFORM:
        if (!visible) return 0;
        return 10 + 4 * coherent + 2 * local + !cached;
    case GPUC_VK_USE_COUNT: break;
    }
    return 0;
}

void gpuc_vk_memory_init(gpuc_vk_device *dev)
{
    const VkPhysicalDeviceMemoryProperties *m = &dev->caps.memory;
    for (gpuc_vk_use use = 0; use < GPUC_VK_USE_COUNT; use++) {
        uint32_t *list = dev->memory.ranking[use], n = 0;
        for (uint32_t type = 0; type < m->memoryTypeCount; type++) {
            int s = score(dev, type, use);
            if (!s) continue;
            uint32_t at = n++;
            for (; at > 0 && score(dev, list[at - 1], use) < s; at--) list[at] = list[at - 1];
            list[at] = type;
        }
        dev->memory.num_ranked[use] = n;
    }
}

bool gpuc_vk_is_unified(const gpuc_vk_device *dev, VkMemoryPropertyFlags flags)
{
    VkPhysicalDeviceType type = dev->caps.props.deviceType;
    bool is_card = type != VK_PHYSICAL_DEVICE_TYPE_CPU && type != VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
    VkMemoryPropertyFlags want = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT |
                                 (is_card ? VK_MEMORY_PROPERTY_HOST_CACHED_BIT : 0);
    return (flags & want) == want;
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

static VkMemoryPropertyFlags type_flags(const gpuc_vk_device *dev, uint32_t type)
{
    return dev->caps.memory.memoryTypes[type].propertyFlags;
}

static bool is_visible(const gpuc_vk_device *dev, uint32_t type)
{
    return (type_flags(dev, type) & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) != 0;
}

/* What is flushed goes by whole atoms, so that two buffers must not share one. */
static VkDeviceSize atom_of(const gpuc_vk_device *dev, uint32_t type)
{
    bool coherent = (type_flags(dev, type) & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT) != 0;
    return is_visible(dev, type) && !coherent ? dev->caps.props.limits.nonCoherentAtomSize : 1;
}

static void block_destroy(gpuc_vk_device *dev, gpuc_vk_block *b)
{
    if (b->memory) {
        if (b->hooked)
            dev->app.memory.free(dev->app.memory.user, b->id);
        else
            dev->fn.FreeMemory(dev->handle, b->memory, dev->host); /* unmaps */
        dev->memory.num_allocations--;
        dev->memory.allocated_bytes -= b->size;
    }
    gpuc_mem_free(dev->allocator, b->free_ranges, b->capacity * sizeof(gpuc_vk_range));
    gpuc_mem_free(dev->allocator, b, sizeof(*b));
}

static gpuc_status check_budget(const gpuc_vk_device *dev, VkDeviceSize size)
{
    uint64_t budget = dev->app.budget, used = dev->memory.allocated_bytes;
    if (!budget || (used <= budget && size <= budget - used)) return NULL;
    return gpuc_fail(GPUC_OUT_OF_DEVICE_MEMORY, "the application's memory_budget is %llu bytes",
                     (unsigned long long)budget);
}

static gpuc_vk_block *block_alloc(gpuc_vk_device *dev, uint32_t type, VkDeviceSize size)
{
    gpuc_vk_block *b = gpuc_mem_alloc(dev->allocator, sizeof(*b));
    if (!b) return NULL;
    *b = (gpuc_vk_block){.size = size, .type = type, .capacity = 4};
    b->free_ranges = gpuc_mem_alloc(dev->allocator, b->capacity * sizeof(gpuc_vk_range));
    if (b->free_ranges) return b;
    gpuc_mem_free(dev->allocator, b, sizeof(*b));
    return NULL;
}

static void count_block(gpuc_vk_device *dev, const gpuc_vk_block *b)
{
    dev->memory.num_allocations++;
    dev->memory.allocated_bytes += b->size;
}

/* next: the chain of vkAllocateMemory. */
static gpuc_status block_create(gpuc_vk_device *dev, uint32_t type, VkDeviceSize size, void *next,
                                gpuc_vk_block **out)
{
    *out = NULL;
    GPUC_TRY(check_budget(dev, size));
    if (dev->memory.num_allocations >= dev->caps.props.limits.maxMemoryAllocationCount)
        return gpuc_vk_error_at(VK_ERROR_TOO_MANY_OBJECTS, "vkAllocateMemory", __FILE__, __LINE__);
    gpuc_vk_block *b = block_alloc(dev, type, size);
    if (!b) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    b->free_ranges[b->num_free++] = (gpuc_vk_range){0, size};
    VkMemoryAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .pNext = next,
        .allocationSize = size,
        .memoryTypeIndex = type,
    };
    const char *call = "vkAllocateMemory";
    VkResult r = dev->fn.AllocateMemory(dev->handle, &info, dev->host, &b->memory);
    if (r >= 0)
        count_block(dev, b);
    else
        b->memory = VK_NULL_HANDLE;
    VkImportMemoryFdInfoKHR *import = next;
    if (r >= 0 && import && import->sType == VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR) import->fd = -1;
    if (r >= 0 && is_visible(dev, type)) {
        call = "vkMapMemory";
        r = dev->fn.MapMemory(dev->handle, b->memory, 0, VK_WHOLE_SIZE, 0, (void **)&b->mapped);
        if (r >= 0 && !next && dev->caps.props.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU)
            gpuc_mem_ask_huge_pages(b->mapped, size);
    }
    if (r < 0) {
        block_destroy(dev, b);
        return gpuc_vk_error_at(r, call, __FILE__, __LINE__);
    }
    *out = b;
    return NULL;
}

/* Cuts size bytes out of the tightest free range. */
static bool block_take(gpuc_vk_device *dev, gpuc_vk_block *b, VkDeviceSize size, VkDeviceSize alignment,
                       VkDeviceSize *out)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < b->num_free; i++) {
        gpuc_vk_range r = b->free_ranges[i];
        VkDeviceSize lead = gpuc_align_up(r.offset, alignment) - r.offset;
        if (r.size < lead || r.size - lead < size) continue;
        if (best == UINT32_MAX || r.size < b->free_ranges[best].size) best = i;
    }
    if (best == UINT32_MAX) return false;
    /* n live spans leave at most n + 1 free ranges; with room for these, freeing cannot fail. */
    if (b->num_live + 2 > b->capacity) {
        uint32_t grown = 2 * b->capacity + 2;
        gpuc_vk_range *ranges =
            gpuc_mem_resize(dev->allocator, b->free_ranges, b->capacity * sizeof(gpuc_vk_range),
                            grown * sizeof(gpuc_vk_range));
        if (!ranges) return false;
        b->free_ranges = ranges;
        b->capacity = grown;
    }
    gpuc_vk_range r = b->free_ranges[best];
    VkDeviceSize at = gpuc_align_up(r.offset, alignment);
    gpuc_vk_range before = {r.offset, at - r.offset};
    gpuc_vk_range after = {at + size, r.offset + r.size - (at + size)};
    uint32_t pieces = (before.size != 0) + (after.size != 0);
    uint32_t tail = b->num_free - best - 1;
    gpuc_vk_range *place = b->free_ranges + best;
    if (pieces == 2)
        for (uint32_t i = tail; i > 0; i--) place[i + 1] = place[i];
    else if (pieces == 0)
        for (uint32_t i = 0; i < tail; i++) place[i] = place[i + 1];
    if (before.size) *place++ = before;
    if (after.size) *place = after;
    b->num_free = b->num_free - 1 + pieces;
    b->num_live++;
    *out = at;
    return true;
}

static void block_give(gpuc_vk_block *b, VkDeviceSize offset, VkDeviceSize size)
{
    gpuc_vk_range *r = b->free_ranges;
    uint32_t at = 0;
    while (at < b->num_free && r[at].offset < offset) at++;
    bool joins_left = at > 0 && r[at - 1].offset + r[at - 1].size == offset;
    bool joins_right = at < b->num_free && offset + size == r[at].offset;
    if (joins_left && joins_right) {
        r[at - 1].size += size + r[at].size;
        for (uint32_t i = at; i + 1 < b->num_free; i++) r[i] = r[i + 1];
        b->num_free--;
    } else if (joins_left) {
        r[at - 1].size += size;
    } else if (joins_right) {
        r[at] = (gpuc_vk_range){offset, size + r[at].size};
    } else {
        for (uint32_t i = b->num_free; i > at; i--) r[i] = r[i - 1];
        r[at] = (gpuc_vk_range){offset, size};
        b->num_free++;
    }
    b->num_live--;
}

/* ---- Allocation ------------------------------------------------------------------------------ */

static gpuc_status alloc_of_type(gpuc_vk_device *dev, uint32_t type, VkDeviceSize size,
                                 VkDeviceSize alignment, gpuc_vk_span *out)
{
    VkDeviceSize pooled = 0, offset;
    for (gpuc_vk_block *b = dev->memory.blocks[type]; b; b = b->next) {
        pooled += b->size;
        if (!b->dedicated && block_take(dev, b, size, alignment, &offset)) {
            *out = (gpuc_vk_span){b, offset, size};
            return NULL;
        }
    }
    VkDeviceSize block_size = pooled < FIRST_BLOCK ? FIRST_BLOCK : pooled > FULL_BLOCK ? FULL_BLOCK : pooled;
    VkDeviceSize heap = dev->caps.memory.memoryHeaps[dev->caps.memory.memoryTypes[type].heapIndex].size;
    if (block_size > heap / 8) block_size = heap / 8;
    if (block_size > dev->caps.max_allocation) block_size = dev->caps.max_allocation;
    bool dedicated = size > block_size / 2;
    gpuc_vk_block *b;
    gpuc_status s = block_create(dev, type, dedicated ? size : block_size, NULL, &b);
    if (!dedicated && gpuc_status_code(s) == GPUC_OUT_OF_DEVICE_MEMORY) {
        gpuc_status_release(s);
        dedicated = true;
        s = block_create(dev, type, size, NULL, &b);
    }
    GPUC_TRY(s);
    b->dedicated = dedicated;
    if (!block_take(dev, b, size, alignment, &offset)) {
        block_destroy(dev, b);
        return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    }
    b->next = dev->memory.blocks[type];
    dev->memory.blocks[type] = b;
    *out = (gpuc_vk_span){b, offset, size};
    return NULL;
}

static gpuc_status too_large(const gpuc_vk_device *dev, VkDeviceSize size)
{
    return gpuc_fail(GPUC_OUT_OF_DEVICE_MEMORY,
                     "%llu bytes of device memory asked for: the largest allocation of %s is %llu bytes",
                     (unsigned long long)size, dev->caps.props.deviceName,
                     (unsigned long long)dev->caps.max_allocation);
}

/* Adds what was asked and what there is to the driver's bare result. */
static gpuc_status explain(const gpuc_vk_device *dev, gpuc_status s, VkDeviceSize size, gpuc_vk_use use)
{
    const VkPhysicalDeviceMemoryProperties *m = &dev->caps.memory;
    uint32_t type = dev->memory.ranking[use][0];
    if (gpuc_status_code(s) != GPUC_OUT_OF_DEVICE_MEMORY) return s;
    return gpuc_error_prefix(s, "%llu bytes of device memory asked for, %llu in use, %llu in the heap of %s",
                             (unsigned long long)size, (unsigned long long)dev->memory.allocated_bytes,
                             (unsigned long long)m->memoryHeaps[m->memoryTypes[type].heapIndex].size,
                             dev->caps.props.deviceName);
}

gpuc_status gpuc_vk_memory_alloc_shared(gpuc_vk_device *dev, const VkMemoryRequirements *need,
                                        gpuc_vk_use use, void *next, gpuc_vk_span *out)
{
    gpuc_vk_memory *m = &dev->memory;
    gpuc_vk_block *b = NULL;
    uint32_t i = 0;
    *out = (gpuc_vk_span){0};
    while (i < m->num_ranked[use] && !(need->memoryTypeBits >> m->ranking[use][i] & 1)) i++;
    if (i == m->num_ranked[use])
        return gpuc_fail(GPUC_UNSUPPORTED, "%s has no memory type for sharing this",
                         dev->caps.props.deviceName);
    pthread_mutex_lock(&m->lock);
    gpuc_status s = block_create(dev, m->ranking[use][i], need->size, next, &b);
    if (!s) {
        b->dedicated = true;
        b->num_free = 0;
        b->num_live = 1;
        b->next = m->blocks[b->type];
        m->blocks[b->type] = b;
        *out = (gpuc_vk_span){b, 0, need->size};
    }
    pthread_mutex_unlock(&m->lock);
    return s;
}

static gpuc_status no_type(const gpuc_vk_device *dev)
{
    return gpuc_fail(GPUC_UNSUPPORTED, "%s has no memory type for this use of a buffer",
                     dev->caps.props.deviceName);
}

static gpuc_status check_hooked(const gpuc_vk_device *dev, const gpuc_vk_block *b,
                                const VkMemoryRequirements *want)
{
    if (b->type >= VK_MAX_MEMORY_TYPES || !(want->memoryTypeBits >> b->type & 1) || b->base % want->alignment)
        return gpuc_fail(
            GPUC_INVALID_ARGUMENT,
            "the application's memory hook gave byte %llu of memory type %u, but the buffer needs one "
            "of the types 0x%x at a multiple of %llu",
            (unsigned long long)b->base, b->type, want->memoryTypeBits, (unsigned long long)want->alignment);
    if (is_visible(dev, b->type) && !b->mapped)
        return gpuc_fail(
            GPUC_INVALID_ARGUMENT,
            "the application's memory hook gave memory that the host can see (type %u), but no address "
            "of it",
            b->type);
    return NULL;
}

/* Memory of the application, for one buffer. */
static gpuc_status alloc_hooked(gpuc_vk_device *dev, const VkMemoryRequirements *need, gpuc_vk_use use,
                                gpuc_vk_span *out)
{
    const gpuc_vulkan_memory_hook *hook = &dev->app.memory;
    VkMemoryRequirements want = *need;
    VkDeviceSize atom = 1;
    uint32_t types[VK_MAX_MEMORY_TYPES], count = 0;
    want.memoryTypeBits = 0;
    for (uint32_t i = 0; i < dev->memory.num_ranked[use]; i++) {
        uint32_t type = dev->memory.ranking[use][i];
        if (!(need->memoryTypeBits & (1u << type))) continue;
        types[count++] = type;
        want.memoryTypeBits |= 1u << type;
        if (atom < atom_of(dev, type)) atom = atom_of(dev, type);
    }
    if (!count) return no_type(dev);
    if (want.alignment < atom) want.alignment = atom;
    want.size = gpuc_align_up(need->size, atom);
    GPUC_TRY(check_budget(dev, want.size));
    gpuc_vk_block *b = block_alloc(dev, VK_MAX_MEMORY_TYPES, want.size);
    if (!b) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    void *mapped = NULL;
    b->hooked = b->dedicated = true;
    VkResult r =
        hook->allocate(hook->user, &want, types, count, &b->memory, &b->base, &b->type, &mapped, &b->id);
    if (r < 0) b->memory = VK_NULL_HANDLE;
    gpuc_status s = r < 0 ? gpuc_vk_error_at(r, "the application's memory hook", __FILE__, __LINE__) : NULL;
    if (!s && !b->memory)
        s = gpuc_fail(GPUC_INVALID_ARGUMENT,
                      "the application's memory hook returned %d, which is no error, but gave no memory", r);
    if (!s) {
        b->mapped = mapped;
        count_block(dev, b);
        s = check_hooked(dev, b, &want);
    }
    if (s) {
        block_destroy(dev, b);
        return s;
    }
    b->num_live = 1;
    b->next = dev->memory.blocks[b->type];
    dev->memory.blocks[b->type] = b;
    *out = (gpuc_vk_span){b, b->base, want.size};
    return NULL;
}

gpuc_status gpuc_vk_memory_alloc(gpuc_vk_device *dev, const VkMemoryRequirements *need, gpuc_vk_use use,
                                 gpuc_vk_span *out)
{
    *out = (gpuc_vk_span){0};
    gpuc_vk_memory *m = &dev->memory;
    gpuc_status s = NULL;
    bool tried = false, fell_back = false;
    if (need->size > dev->caps.max_allocation) return too_large(dev, need->size);
    pthread_mutex_lock(&m->lock);
    if (dev->app.memory.allocate && m->num_ranked[use]) {
        s = alloc_hooked(dev, need, use, out);
        tried = true;
    }
    for (uint32_t i = 0; i < m->num_ranked[use] && !dev->app.memory.allocate; i++) {
        if (tried && gpuc_status_code(s) != GPUC_OUT_OF_DEVICE_MEMORY) break;
        uint32_t type = m->ranking[use][i];
        if (!(need->memoryTypeBits & (1u << type))) continue;
        VkDeviceSize alignment = need->alignment > SPAN_ALIGN ? need->alignment : SPAN_ALIGN;
        if (alignment < atom_of(dev, type)) alignment = atom_of(dev, type);
        gpuc_status_release(s);
        fell_back = tried;
        s = alloc_of_type(dev, type, gpuc_align_up(need->size, alignment), alignment, out);
        tried = true;
    }
    if (s) s = explain(dev, s, need->size, use);
    bool news = !s && fell_back && !m->fell_back;
    if (news) m->fell_back = true;
    pthread_mutex_unlock(&m->lock);
    if (news)
        gpuc_runtime_log(dev->base.runtime, GPUC_LOG_WARNING, "vulkan.memory",
                         "the best memory of %s is full; what follows may be slower",
                         dev->caps.props.deviceName);
    return tried ? s : no_type(dev);
}

void gpuc_vk_memory_free(gpuc_vk_device *dev, gpuc_vk_span *span)
{
    gpuc_vk_block *b = span->block;
    if (!b) return;
    pthread_mutex_lock(&dev->memory.lock);
    block_give(b, span->offset, span->size);
    if (!b->num_live) {
        /* One empty block per type stays, for programs that free and allocate in turn. */
        gpuc_vk_block **at = &dev->memory.blocks[b->type];
        bool keep = !b->dedicated;
        for (gpuc_vk_block *o = *at; o; o = o->next)
            if (o != b && !o->num_live && !o->dedicated) keep = false;
        if (!keep) {
            while (*at != b) at = &(*at)->next;
            *at = b->next;
            block_destroy(dev, b);
        }
    }
    pthread_mutex_unlock(&dev->memory.lock);
    *span = (gpuc_vk_span){0};
}

void gpuc_vk_memory_deinit(gpuc_vk_device *dev)
{
    for (uint32_t type = 0; type < VK_MAX_MEMORY_TYPES; type++)
        while (dev->memory.blocks[type]) {
            gpuc_vk_block *b = dev->memory.blocks[type];
            dev->memory.blocks[type] = b->next;
            block_destroy(dev, b);
        }
}

uint8_t *gpuc_vk_span_mapped(const gpuc_vk_span *span)
{
    return span->block->mapped ? span->block->mapped + (span->offset - span->block->base) : NULL;
}

void gpuc_vk_memory_by_heap(gpuc_vk_device *dev, uint64_t out[VK_MAX_MEMORY_HEAPS])
{
    for (uint32_t i = 0; i < VK_MAX_MEMORY_HEAPS; i++) out[i] = 0;
    pthread_mutex_lock(&dev->memory.lock);
    for (uint32_t type = 0; type < dev->caps.memory.memoryTypeCount; type++)
        for (const gpuc_vk_block *b = dev->memory.blocks[type]; b; b = b->next)
            out[dev->caps.memory.memoryTypes[type].heapIndex] += b->size;
    pthread_mutex_unlock(&dev->memory.lock);
}

VkMemoryPropertyFlags gpuc_vk_span_flags(const gpuc_vk_device *dev, const gpuc_vk_span *span)
{
    return type_flags(dev, span->block->type);
}

static bool mapped_range(const gpuc_vk_device *dev, const gpuc_vk_span *span, VkDeviceSize offset,
                         VkDeviceSize size, VkMappedMemoryRange *out)
{
    VkMemoryPropertyFlags f =
        span->block ? gpuc_vk_span_flags(dev, span) : 0; /* the application's is coherent */
    if (!(f & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) || (f & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT))
        return false;
    VkDeviceSize atom = dev->caps.props.limits.nonCoherentAtomSize;
    VkDeviceSize begin = (span->offset + offset) / atom * atom;
    VkDeviceSize end = gpuc_align_up(span->offset + offset + size, atom);
    if (!span->block->hooked && end > span->block->size) end = span->block->size;
    *out = (VkMappedMemoryRange){
        .sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE,
        .memory = span->block->memory,
        .offset = begin,
        .size = end - begin,
    };
    return true;
}

gpuc_status gpuc_vk_span_flush(gpuc_vk_device *dev, const gpuc_vk_span *span, VkDeviceSize offset,
                               VkDeviceSize size)
{
    VkMappedMemoryRange range;
    if (mapped_range(dev, span, offset, size, &range))
        GPUC_VK_TRY("vkFlushMappedMemoryRanges", dev->fn.FlushMappedMemoryRanges(dev->handle, 1, &range));
    return NULL;
}

gpuc_status gpuc_vk_span_invalidate(gpuc_vk_device *dev, const gpuc_vk_span *span, VkDeviceSize offset,
                                    VkDeviceSize size)
{
    VkMappedMemoryRange range;
    if (mapped_range(dev, span, offset, size, &range))
        GPUC_VK_TRY("vkInvalidateMappedMemoryRanges",
                    dev->fn.InvalidateMappedMemoryRanges(dev->handle, 1, &range));
    return NULL;
}
