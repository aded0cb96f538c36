/* The search of softcosine in C: what its compiled Python is compared with.
 *
 * The same steps, layout and order of documents as src/softcosine/kernels/search.py and
 * documents.py, for counts: expand the query, add up postings grouped by frequency and the columns
 * of frequent terms in float32, scan, keep every document that can be among the k best, and score
 * these in float64. Segments are searched one after the other; the threshold is carried along.
 */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 1024
enum { FETCH_TERM = 24, FETCH_GROUPS = 16, FETCH_POSTINGS = 8 };

/* One segment and what its ranking says; mirrored by native.py. */
typedef struct {
    int64_t n_docs, n_terms, first, longest_list, longest_document;
    const int64_t *term_groups, *group_starts;
    const float *group_weights;
    const uint16_t *documents;
    const int32_t *column_of;
    const uint16_t *columns; /* (n_columns, n_docs) */
    const float *factors32;
    const int64_t *pointers;
    const uint32_t *terms;
    const uint16_t *levels;
    const double *table, *factors;
} Segment;

/* S, the diagonal of W, and scratch; all scratch is zero between searches. */
typedef struct {
    const int64_t *s_pointers;
    const int32_t *s_indices;
    const float *s_values;
    const double *term_weights;
    double *expansion;
    uint8_t *seen;
    int32_t *touched;
    double *weights; /* of the touched terms, in their order */
    float *scores;
    uint32_t *candidates;
    const uint16_t **rows;
    float *row_weights;
} Space;

typedef struct { double score; uint32_t document; } Scored;

static int64_t expand(const Space *s, const int32_t *terms, const double *weights, int64_t m,
                      double *largest, double *norm) {
    int64_t n = 0;
    for (int64_t a = 0; a < m; a++) {
        const double x = weights[a];
        for (int64_t p = s->s_pointers[terms[a]]; p < s->s_pointers[terms[a] + 1]; p++) {
            const int32_t j = s->s_indices[p];
            s->touched[n] = j;
            n += 1 - s->seen[j];
            s->seen[j] = 1;
            s->expansion[j] += s->s_values[p] * x;
        }
    }
    *norm = 0.0;
    for (int64_t a = 0; a < m; a++) *norm += weights[a] * s->expansion[terms[a]];
    *largest = 0.0;
    for (int64_t t = 0; t < n; t++) {
        const int32_t j = s->touched[t];
        s->weights[t] = s->expansion[j] *= s->term_weights[j];
        *largest = fmax(*largest, fabs(s->weights[t]));
    }
    return n;
}

static float widened(uint16_t half) {
    const uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void push(float *heap, int64_t size, float value) {
    int64_t parent = 0;
    for (;;) {
        int64_t child = 2 * parent + 1;
        if (child >= size) break;
        if (child + 1 < size && heap[child + 1] < heap[child]) child++;
        if (heap[child] >= value) break;
        heap[parent] = heap[child];
        parent = child;
    }
    heap[parent] = value;
}

/* Add up one segment, and give the documents that can be among the k best. */
static int64_t find(const Space *s, const Segment *g, int64_t n_touched, double inverse,
                    float *heap, int64_t k, double slack) {
    int64_t n_rows = 0;
    for (int64_t t = 0; t < n_touched; t++) {
        if (t + FETCH_TERM < n_touched) {
            __builtin_prefetch(&g->term_groups[s->touched[t + FETCH_TERM]]);
            __builtin_prefetch(&g->group_starts[g->term_groups[s->touched[t + FETCH_GROUPS]]]);
            const int64_t group = g->term_groups[s->touched[t + FETCH_POSTINGS]];
            __builtin_prefetch(&g->documents[g->group_starts[group]]);
        }
        const int32_t j = s->touched[t];
        const float weight = (float)(s->weights[t] * inverse);
        if (weight == 0) continue;
        const int64_t first = g->term_groups[j], last = g->term_groups[j + 1];
        if (first == last) continue;
        if (g->group_starts[last] - g->group_starts[first] > g->longest_list) {
            s->rows[n_rows] = g->columns + (int64_t)g->column_of[j] * g->n_docs;
            s->row_weights[n_rows++] = weight;
            continue;
        }
        for (int64_t i = first; i < last; i++) {
            const float w = weight * g->group_weights[i];
            const int64_t stop = g->group_starts[i + 1];
            for (int64_t p = g->group_starts[i]; p < stop; p++) s->scores[g->documents[p]] += w;
        }
    }
    for (; n_rows % 4; n_rows++) { /* filled up by weights of zero */
        s->rows[n_rows] = g->columns;
        s->row_weights[n_rows] = 0.0f;
    }
    float least = heap[0];
    for (int64_t begin = 0; begin < g->n_docs; begin += BLOCK) {
        const int64_t size = g->n_docs - begin < BLOCK ? g->n_docs - begin : BLOCK;
        float *restrict part = s->scores + begin;
        const float *restrict factors = g->factors32 + begin;
        for (int64_t r = 0; r < n_rows; r += 4) {
            const uint16_t *a = s->rows[r] + begin, *b = s->rows[r + 1] + begin;
            const uint16_t *c = s->rows[r + 2] + begin, *d = s->rows[r + 3] + begin;
            const float wa = s->row_weights[r], wb = s->row_weights[r + 1];
            const float wc = s->row_weights[r + 2], wd = s->row_weights[r + 3];
            for (int64_t i = 0; i < size; i++)
                part[i] += (wa * widened(a[i]) + wb * widened(b[i]))
                           + (wc * widened(c[i]) + wd * widened(d[i]));
        }
        int32_t above = 0;
        for (int64_t i = 0; i < size; i++) {
            part[i] *= factors[i];
            above += part[i] > least;
        }
        if (above)
            for (int64_t i = 0; i < size; i++)
                if (part[i] > least) {
                    push(heap, k, part[i]);
                    least = heap[0];
                }
    }
    const float bound = (float)(least * slack);
    int64_t n = 0;
    for (int64_t begin = 0; begin < g->n_docs; begin += BLOCK) {
        const int64_t size = g->n_docs - begin < BLOCK ? g->n_docs - begin : BLOCK;
        float *restrict part = s->scores + begin;
        int32_t above = 0;
        for (int64_t i = 0; i < size; i++) above += part[i] >= bound;
        if (above)
            for (int64_t i = 0; i < size; i++)
                if (part[i] >= bound && part[i] > 0.0f) s->candidates[n++] = (uint32_t)(begin + i);
        memset(part, 0, (size_t)size * sizeof(float));
    }
    return n;
}

/* Whether a comes before b in the answer. */
static int better(Scored a, Scored b) {
    return a.score > b.score || (a.score == b.score && a.document < b.document);
}

/* Score candidates exactly, and put them among the k best so far, which stand in order. */
static int64_t rank(const Space *s, const Segment *g, int64_t n, double factor, Scored *best,
                    int64_t held, int64_t k) {
    for (int64_t c = 0; c < n; c++) {
        const uint32_t d = s->candidates[c];
        double total = 0.0;
        for (int64_t p = g->pointers[d]; p < g->pointers[d + 1]; p++)
            total += s->expansion[g->terms[p]] * g->table[g->levels[p]];
        const Scored found = {total * g->factors[d] * factor, (uint32_t)(g->first + d)};
        if (found.score <= 0.0 || (held == k && !better(found, best[k - 1]))) continue;
        int64_t place = held < k ? held++ : k - 1;
        for (; place > 0 && better(found, best[place - 1]); place--) best[place] = best[place - 1];
        best[place] = found;
    }
    return held;
}

/* The k best documents by soft cosine, best first; their number is returned. */
int64_t search(const Space *s, const Segment *segments, int64_t n_segments, const int32_t *terms,
               const double *weights, int64_t m, int64_t k, double unit_roundoff, double half,
               uint32_t *out_documents, double *out_scores) {
    double largest, norm;
    const int64_t n_touched = expand(s, terms, weights, m, &largest, &norm);
    int64_t held = 0;
    if (norm > 0.0 && largest > 0.0) {
        float *heap = calloc((size_t)k, sizeof(float));
        Scored *best = malloc((size_t)k * sizeof(Scored));
        for (int64_t i = 0; i < n_segments; i++) {
            const Segment *g = &segments[i];
            /* As softcosine.index.bounds.slack. */
            const int64_t summands =
                n_touched < g->longest_document ? n_touched : g->longest_document;
            double gamma = (double)(summands + 16) * unit_roundoff;
            gamma /= 1.0 - gamma;
            const double slack = (1.0 - gamma) / (1.0 + gamma) * ((1.0 - half) / (1.0 + half))
                                 * (1.0 - 4 * unit_roundoff);
            const int64_t n = find(s, g, n_touched, 1.0 / largest, heap, k, slack);
            held = rank(s, g, n, 1.0 / sqrt(norm), best, held, k);
        }
        for (int64_t i = 0; i < held; i++) {
            out_documents[i] = best[i].document;
            out_scores[i] = best[i].score;
        }
        free(heap);
        free(best);
    }
    for (int64_t t = 0; t < n_touched; t++) {
        s->expansion[s->touched[t]] = 0.0;
        s->seen[s->touched[t]] = 0;
    }
    return held;
}
