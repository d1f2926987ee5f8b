#include "bindings/record.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include "bindings/arrays.h"

namespace pliant {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

template <class T>
std::span<T> take(std::span<T>& rest, std::size_t size) {
  const std::span<T> part = rest.first(size);
  rest = rest.subspan(size);
  return part;
}

template <class T>
void copy_to(std::span<T> to, std::span<const T> from, const char* name) {
  if (to.size() != from.size()) {
    throw nb::value_error(
        (std::string(name) + " has " + std::to_string(from.size()) + " entries, expected " + std::to_string(to.size()))
            .c_str());
  }
  std::copy(from.begin(), from.end(), to.begin());
}

// What the constraints and laws of pliant.constraints are read by.
struct Names {
  PyObject* kind = PyUnicode_InternFromString("kind");
  PyObject* jacobian = PyUnicode_InternFromString("jacobian");
  PyObject* law = PyUnicode_InternFromString("law");
  PyObject* tangent_law = PyUnicode_InternFromString("tangent_law");
  PyObject* value = PyUnicode_InternFromString("value");
  PyObject* gap = PyUnicode_InternFromString("gap");
  PyObject* stretch = PyUnicode_InternFromString("stretch");
  PyObject* rate_offset = PyUnicode_InternFromString("rate_offset");
  PyObject* curvature = PyUnicode_InternFromString("curvature");
  PyObject* ids = PyUnicode_InternFromString("ids");
  PyObject* lower = PyUnicode_InternFromString("lower");
  PyObject* upper = PyUnicode_InternFromString("upper");
  PyObject* friction = PyUnicode_InternFromString("friction");
  PyObject* stiffness = PyUnicode_InternFromString("stiffness");
  PyObject* damping = PyUnicode_InternFromString("damping");
  PyObject* exponent = PyUnicode_InternFromString("exponent");
  PyObject* dissipation = PyUnicode_InternFromString("dissipation");
  PyObject* indptr = PyUnicode_InternFromString("indptr");
  PyObject* indices = PyUnicode_InternFromString("indices");
  PyObject* data = PyUnicode_InternFromString("data");
};

const Names& names() {
  static const Names all;  // constants
  return all;
}

nb::object attribute(nb::handle object, PyObject* name) {
  PyObject* found = PyObject_GetAttr(object.ptr(), name);
  if (!found) nb::raise_python_error();
  return nb::steal(found);
}

// A matrix as Python has it: a diagonal (n,), dense with its rows stacked, or a canonical csr_array.
struct Matrix {
  bool diagonal = false, dense = false;
  std::size_t rows = 0, columns = 0, entries = 0;
  std::span<const double> value;
  nb::object start, column;  // of a csr_array
  nb::object owner;
};

Matrix read_matrix(nb::handle data, bool is_mass) {
  Matrix matrix;
  if (!is_array(data)) {
    matrix.start = attribute(data, names().indptr);
    matrix.column = attribute(data, names().indices);
    matrix.owner = attribute(data, names().data);
    matrix.value = reals(matrix.owner, "data");
    matrix.rows = size_of(matrix.start, "indptr") - 1;
    matrix.entries = size_of(matrix.column, "indices");
    return matrix;
  }
  matrix.value = reals(data, "matrix");
  const Shape shape = shape_of(data);
  matrix.rows = shape.rows;
  if (is_mass && shape.axes == 1) {
    matrix.diagonal = true;
    matrix.columns = matrix.entries = shape.rows;
  } else {
    matrix.dense = true;
    matrix.columns = shape.columns;
    matrix.entries = static_cast<std::size_t>(
        std::count_if(matrix.value.begin(), matrix.value.end(), [](double entry) { return entry != 0.0; }));
  }
  return matrix;
}

// Appends the rows of a matrix: `start` has one entry more than rows, of which the first is set already.
void append(const Matrix& matrix, std::span<std::int64_t> start, std::span<std::int64_t> column,
            std::span<double> value) {
  const auto first = static_cast<std::size_t>(start[0]);
  if (matrix.diagonal) {
    for (std::size_t i = 0; i < matrix.rows; i++) {
      start[i + 1] = static_cast<std::int64_t>(first + i + 1);
      column[first + i] = static_cast<std::int64_t>(i);
      value[first + i] = matrix.value[i];
    }
  } else if (matrix.dense) {
    std::size_t at = first, entry = 0;
    for (std::size_t i = 0; i < matrix.rows; i++) {
      for (std::size_t j = 0; j < matrix.columns; j++, entry++) {
        if (matrix.value[entry] != 0.0) {
          column[at] = static_cast<std::int64_t>(j);
          value[at++] = matrix.value[entry];
        }
      }
      start[i + 1] = static_cast<std::int64_t>(at);
    }
  } else {
    copy_indices(matrix.column, "indices", column.subspan(first, matrix.entries));
    copy_to(value.subspan(first, matrix.entries), matrix.value, "data");
    copy_indices(matrix.start, "indptr", start.first(matrix.rows + 1));
    for (std::size_t i = 0; i <= matrix.rows; i++) start[i] += static_cast<std::int64_t>(first);
  }
}

// A parameter that broadcasts over (count, width) items: a number, one for all, one per item, or one per entry.
class Parameter {
 public:
  Parameter(nb::handle data, const char* name) {
    if (is_array(data)) {
      owner_ = nb::borrow(data);
      values_ = reals(data, name);
      const Shape shape = shape_of(data);
      across_ = shape.axes == 2;
      width_ = shape.axes == 2 ? shape.columns : 1;
    } else {
      number_ = PyFloat_AsDouble(data.ptr());
      if (number_ == -1.0 && PyErr_Occurred()) nb::raise_python_error();
    }
  }
  double operator()(std::size_t item, std::size_t k) const {
    if (values_.empty()) return number_;
    if (values_.size() == 1) return values_[0];
    return values_[across_ ? item * width_ + k : item];
  }

 private:
  nb::object owner_;
  std::span<const double> values_;
  double number_ = 0;
  std::size_t width_ = 1;
  bool across_ = false;
};

struct LawParameters {
  Parameter stiffness, damping, exponent, dissipation;
  explicit LawParameters(nb::handle law)
      : stiffness(attribute(law, names().stiffness), "stiffness"),
        damping(attribute(law, names().damping), "damping"),
        exponent(attribute(law, names().exponent), "exponent"),
        dissipation(attribute(law, names().dissipation), "dissipation") {}
};

// One constraint on its way into the record.
struct Source {
  nb::handle constraint;
  Kind kind;
  Matrix jacobian;
  nb::object ids;
  std::size_t count, dimension;
};

Source read_source(nb::handle constraint) {
  Source source;
  source.constraint = constraint;
  source.kind = static_cast<Kind>(nb::cast<std::int64_t>(attribute(constraint, names().kind)));
  const nb::object jacobian = attribute(constraint, names().jacobian);
  source.jacobian = read_matrix(jacobian, false);  // the constraint keeps its arrays alive
  source.ids = attribute(constraint, names().ids);
  source.count = size_of(source.ids, "ids");
  source.dimension = source.kind == Kind::normal ? shape_of(attribute(constraint, names().friction)).columns + 1 : 1;
  if (source.jacobian.rows != source.count * source.dimension) throw nb::value_error("jacobian: rows do not fit ids");
  return source;
}

void fill_common(Record& record, const Source& source, std::size_t first, std::size_t index) {
  const std::size_t d = source.dimension;
  const nb::object curvature = attribute(source.constraint, names().curvature);
  if (!curvature.is_none()) {
    copy_to(record.curvature.subspan(first, source.count * d), reals(curvature, "curvature"), "curvature");
  }
  copy_to(record.offset.subspan(first, source.count * d),
          reals(attribute(source.constraint, names().rate_offset), "rate_offset"), "rate_offset");
  const auto ids = integers(source.ids, "ids");
  for (std::size_t row = 0; row < source.count * d; row++) {
    record.constraint[first + row] = static_cast<std::int64_t>(index);
    record.ids[first + row] = ids[row / d];
    record.upper[first + row] = infinity;
  }
}

void fill_scalar(Record& record, const Source& source, std::size_t first) {
  const LawParameters law(attribute(source.constraint, names().law));
  const std::size_t n = source.count;
  copy_to(record.value.subspan(first, n), reals(attribute(source.constraint, names().value), "value"), "value");
  for (std::size_t item = 0; item < n; item++) {
    const std::size_t row = first + item;
    record.kind[row] = static_cast<std::int64_t>(source.kind);
    record.stiffness[row] = law.stiffness(item, 0);
    record.damping[row] = law.damping(item, 0);
    record.exponent[row] = law.exponent(item, 0);
    record.dissipation[row] = law.dissipation(item, 0);
    record.lower[row] = source.kind == Kind::unilateral ? 0.0 : -infinity;
  }
  if (source.kind == Kind::clipped) {
    copy_to(record.lower.subspan(first, n), reals(attribute(source.constraint, names().lower), "lower"), "lower");
    copy_to(record.upper.subspan(first, n), reals(attribute(source.constraint, names().upper), "upper"), "upper");
  }
}

void fill_contact(Record& record, const Source& source, std::size_t first) {
  const std::size_t n = source.count, tangents = source.dimension - 1;
  const LawParameters law(attribute(source.constraint, names().law));
  const nb::object arrays[] = {attribute(source.constraint, names().gap), attribute(source.constraint, names().stretch),
                               attribute(source.constraint, names().friction)};
  const auto gap = reals(arrays[0], "gap"), stretch = reals(arrays[1], "stretch"), mu = reals(arrays[2], "friction");
  if (gap.size() != n || stretch.size() != n * tangents || mu.size() != n * tangents) {
    throw nb::value_error("Contact: gap, stretch and friction do not fit each other");
  }
  const nb::object tangent_law = attribute(source.constraint, names().tangent_law);
  const bool rigid = tangent_law.is_none();
  const LawParameters along(rigid ? attribute(source.constraint, names().law) : tangent_law);
  for (std::size_t item = 0; item < n; item++) {
    const std::size_t normal = first + item * source.dimension;
    record.kind[normal] = static_cast<std::int64_t>(Kind::normal);
    record.value[normal] = gap[item];
    record.stiffness[normal] = law.stiffness(item, 0);
    record.damping[normal] = law.damping(item, 0);
    record.exponent[normal] = law.exponent(item, 0);
    record.dissipation[normal] = law.dissipation(item, 0);
    for (std::size_t k = 0; k < tangents; k++) {
      const std::size_t row = normal + 1 + k;
      record.kind[row] = static_cast<std::int64_t>(Kind::tangent);
      record.value[row] = stretch[item * tangents + k];
      record.stiffness[row] = rigid ? infinity : along.stiffness(item, k);
      record.damping[row] = rigid ? 0.0 : along.damping(item, k);
      record.exponent[row] = 1.0;
      record.lower[row] = -infinity;
      record.friction[row] = mu[item * tangents + k];
    }
  }
}

// The record of a validated problem.
Record lower(nb::handle mass, nb::handle velocity, nb::handle force, double h, nb::tuple constraints) {
  const Matrix inertia = read_matrix(mass, true);
  std::vector<Source> sources;
  sources.reserve(nb::len(constraints));
  Sizes sizes{.velocities = inertia.rows, .mass_entries = inertia.entries};
  for (nb::handle constraint : constraints) {
    const Source& source = sources.emplace_back(read_source(constraint));
    sizes.rows += source.count * source.dimension;
    sizes.blocks += source.count;
    sizes.jacobian_entries += source.jacobian.entries;
  }
  Record record(sizes);
  record.h = h;
  append(inertia, record.mass_start, record.mass_column, record.mass_value);
  copy_to(record.velocity, reals(velocity, "velocity"), "velocity");
  copy_to(record.force, reals(force, "force"), "force");
  std::size_t row = 0, block = 0;
  for (std::size_t index = 0; index < sources.size(); index++) {
    const Source& source = sources[index];
    append(source.jacobian, record.jacobian_start.subspan(row), record.jacobian_column, record.jacobian_value);
    fill_common(record, source, row, index);
    if (source.kind == Kind::normal) fill_contact(record, source, row);
    else fill_scalar(record, source, row);
    for (std::size_t item = 0; item < source.count; item++) {
      row += source.dimension;
      record.block_start[++block] = static_cast<std::int64_t>(row);
    }
  }
  return record;
}

// Whether a mass, finite, (n,) or (n, n), needs no closer look: symmetric to the bit, and no pivot of its Cholesky
// factor is near the rounding of the diagonal. Of many velocities the factor is left to faster ones.
bool is_sound_mass(nb::handle mass) {
  const std::span<const double> entries = reals(mass, "mass");
  const Shape shape = shape_of(mass);
  const std::size_t n = shape.rows;
  if (shape.axes == 1) return n > 0 && std::all_of(entries.begin(), entries.end(), [](double m) { return m > 0.0; });
  constexpr std::size_t many = 64;
  if (shape.axes != 2 || n == 0 || shape.columns != n || n > many) return false;
  const double least = 100.0 * static_cast<double>(n) * std::numeric_limits<double>::epsilon();
  std::vector<double> factor(entries.begin(), entries.end());
  for (std::size_t j = 0; j < n; j++) {
    double* row = &factor[j * n];
    for (std::size_t i = 0; i < j; i++) {
      if (entries[i * n + j] != entries[j * n + i]) return false;
      const double* other = &factor[i * n];
      double sum = row[i];
      for (std::size_t k = 0; k < i; k++) sum -= row[k] * other[k];
      row[i] = sum / other[i];
    }
    double pivot = row[j];
    for (std::size_t k = 0; k < j; k++) pivot -= row[k] * row[k];
    if (!(pivot > least * entries[j * n + j])) return false;
    row[j] = std::sqrt(pivot);
  }
  return true;
}

[[noreturn]] void refuse(const std::string& message) { throw nb::value_error(message.c_str()); }

// Rising from 0 to the end, at most `most` entries (padding may lie behind).
void check_starts(std::span<const std::int64_t> start, std::size_t most, const char* name) {
  bool rises = start[0] == 0 && start.back() >= 0 && static_cast<std::size_t>(start.back()) <= most;
  for (std::size_t i = 1; i < start.size(); i++) rises = rises && start[i - 1] <= start[i];
  if (!rises) refuse(std::string(name) + " must rise from 0 and end within " + std::to_string(most));
}

void check_columns(std::span<const std::int64_t> start, std::span<const std::int64_t> column, std::size_t columns,
                   const char* name) {
  for (std::size_t row = 0; row + 1 < start.size(); row++) {
    for (auto at = static_cast<std::size_t>(start[row]); at < static_cast<std::size_t>(start[row + 1]); at++) {
      const std::int64_t j = column[at];
      const bool rises = at == static_cast<std::size_t>(start[row]) || column[at - 1] < j;
      if (j < 0 || static_cast<std::size_t>(j) >= columns || !rises) {
        refuse(std::string(name) + " must rise within each row and lie in 0.." + std::to_string(columns) + ", got " +
               std::to_string(j) + " in row " + std::to_string(row));
      }
    }
  }
}

// Blocks of one row each, or a normal row and its tangents; what is inert, alone.
void check_blocks(std::span<const std::int64_t> start, std::span<const std::int64_t> kind) {
  if (static_cast<std::size_t>(start.back()) != kind.size()) refuse("block_ptr must end at the number of rows");
  for (std::size_t block = 0; block + 1 < start.size(); block++) {
    const auto first = static_cast<std::size_t>(start[block]), end = static_cast<std::size_t>(start[block + 1]);
    for (std::size_t row = first; row < end; row++) {
      const auto is = static_cast<Kind>(kind[row]);
      if (kind[row] < 0 || is > Kind::inert) {
        refuse("kind must be one of 0 to 5 (see pliant.flat), got " + std::to_string(kind[row]) + " in row " +
               std::to_string(row));
      }
      const bool fits = row == first ? is != Kind::tangent && (is == Kind::normal || end == first + 1)
                                     : is == Kind::tangent && static_cast<Kind>(kind[first]) == Kind::normal;
      if (!fits) {
        refuse("block_ptr: block " + std::to_string(block) + " must be one row, or a normal row and its tangents");
      }
    }
  }
}

// The record of the fields of a Flat, in its order; ends in constraint and ids.
Record from_arrays(double h, nb::args fields) {
  constexpr const char* field[] = {"mass_ptr",  "mass_idx",  "mass_val",   "velocity",    "force", "jac_ptr",
                                   "jac_idx",   "jac_val",   "block_ptr",  "kind",        "value", "offset",
                                   "stiffness", "damping",   "exponent",   "dissipation", "lower", "upper",
                                   "friction",  "curvature", "constraint", "ids"};
  if (fields.size() != std::size(field)) refuse("expected the fields of pliant.flat.Flat");
  const auto ints = [&](std::size_t i) { return integers(fields[i], field[i]); };
  const auto floats = [&](std::size_t i) { return reals(fields[i], field[i]); };
  for (const std::size_t i : {0, 5, 8}) {
    if (ints(i).empty()) refuse(std::string(field[i]) + " must have at least one entry");
  }
  Record record(Sizes{.velocities = floats(3).size(),
                      .rows = ints(9).size(),
                      .blocks = ints(8).size() - 1,
                      .mass_entries = ints(1).size(),
                      .jacobian_entries = ints(6).size()});
  record.h = h;
  const std::span<std::int64_t> of_integers[] = {record.mass_start,      record.mass_column, record.jacobian_start,
                                                 record.jacobian_column, record.block_start, record.kind,
                                                 record.constraint,      record.ids};
  const std::span<double> of_reals[] = {record.mass_value, record.velocity,    record.force,     record.jacobian_value,
                                        record.value,      record.offset,      record.stiffness, record.damping,
                                        record.exponent,   record.dissipation, record.lower,     record.upper,
                                        record.friction,   record.curvature};
  constexpr std::size_t integer_fields[] = {0, 1, 5, 6, 8, 9, 20, 21};
  constexpr std::size_t real_fields[] = {2, 3, 4, 7, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19};
  for (std::size_t i = 0; i < std::size(integer_fields); i++) {
    copy_to(of_integers[i], ints(integer_fields[i]), field[integer_fields[i]]);
  }
  for (std::size_t i = 0; i < std::size(real_fields); i++) {
    copy_to(of_reals[i], floats(real_fields[i]), field[real_fields[i]]);
  }
  if (!(h > 0.0)) refuse("step must be a number > 0 [s]");
  if (record.velocity.empty()) refuse("velocity must have at least one entry");
  check_starts(record.mass_start, record.mass_column.size(), "mass_ptr");
  check_columns(record.mass_start, record.mass_column, record.velocity.size(), "mass_idx");
  check_starts(record.jacobian_start, record.jacobian_column.size(), "jac_ptr");
  check_columns(record.jacobian_start, record.jacobian_column, record.velocity.size(), "jac_idx");
  check_starts(record.block_start, record.kind.size(), "block_ptr");
  check_blocks(record.block_start, record.kind);
  return record;
}

// Copies of the fields in the order of Flat.
nb::tuple arrays(const Record& r) {
  const auto ints = [](std::span<const std::int64_t> values) { return array_of(values); };
  const auto floats = [](std::span<const double> values) { return array_of(values); };
  return nb::make_tuple(r.h, ints(r.mass_start), ints(r.mass_column), floats(r.mass_value), floats(r.velocity),
                        floats(r.force), ints(r.jacobian_start), ints(r.jacobian_column), floats(r.jacobian_value),
                        ints(r.block_start), ints(r.kind), floats(r.value), floats(r.offset), floats(r.stiffness),
                        floats(r.damping), floats(r.exponent), floats(r.dissipation), floats(r.lower), floats(r.upper),
                        floats(r.friction), floats(r.curvature), ints(r.constraint), ints(r.ids));
}

// The same with other rate offsets, and a push added to the force.
Record shifted(const Record& record, nb::handle offset, nb::handle push) {
  Record changed = record.relative();
  copy_to(changed.offset, reals(offset, "offset"), "offset");
  const auto added = reals(push, "push");
  if (added.size() != changed.force.size()) refuse("push must have one entry per velocity");
  for (std::size_t i = 0; i < added.size(); i++) changed.force[i] += added[i];
  return changed;
}

}  // namespace

Record::Record(const Sizes& sizes) : sizes_(sizes) {
  static std::atomic<std::uint64_t> families = 0;
  family_ = ++families;
  const auto [nv, m, nb, mass, jacobian] = sizes;
  integers_.resize(nv + 1 + mass + m + 1 + jacobian + nb + 1 + 3 * m);
  reals_.resize(mass + 2 * nv + jacobian + 10 * m);
  std::span<std::int64_t> rest(integers_);
  mass_start = take(rest, nv + 1);
  mass_column = take(rest, mass);
  jacobian_start = take(rest, m + 1);
  jacobian_column = take(rest, jacobian);
  block_start = take(rest, nb + 1);
  for (auto* column : {&kind, &constraint, &ids}) *column = take(rest, m);
  std::span<double> numbers(reals_);
  mass_value = take(numbers, mass);
  velocity = take(numbers, nv);
  force = take(numbers, nv);
  jacobian_value = take(numbers, jacobian);
  for (auto* column :
       {&value, &offset, &stiffness, &damping, &exponent, &dissipation, &lower, &upper, &friction, &curvature}) {
    *column = take(numbers, m);
  }
}

Record record_of(const Step& s) {
  Record r({.velocities = static_cast<std::size_t>(s.velocities()),
            .rows = static_cast<std::size_t>(s.rows()),
            .blocks = static_cast<std::size_t>(s.blocks()),
            .mass_entries = static_cast<std::size_t>(s.mass_value.size()),
            .jacobian_entries = static_cast<std::size_t>(s.jacobian_value.size())});
  r.h = s.h;
  const auto put = [](const auto& from, auto to) { std::copy(from.begin(), from.end(), to.begin()); };
  put(s.mass_start, r.mass_start);
  put(s.mass_column, r.mass_column);
  put(s.mass_value, r.mass_value);
  put(s.velocity, r.velocity);
  put(s.force, r.force);
  put(s.jacobian_start, r.jacobian_start);
  put(s.jacobian_column, r.jacobian_column);
  put(s.jacobian_value, r.jacobian_value);
  put(s.block_start, r.block_start);
  put(s.kind, r.kind);
  put(s.value, r.value);
  put(s.offset, r.offset);
  put(s.stiffness, r.stiffness);
  put(s.damping, r.damping);
  put(s.exponent, r.exponent);
  put(s.dissipation, r.dissipation);
  put(s.lower, r.lower);
  put(s.upper, r.upper);
  put(s.friction, r.friction);
  for (int b = 0; b < s.blocks(); b++) {
    for (auto i = s.block_start[b]; i < s.block_start[b + 1]; i++)
      r.constraint[static_cast<std::size_t>(i)] = r.ids[static_cast<std::size_t>(i)] = b;
  }
  return r;
}

Record Record::relative() const {
  Record other(sizes_);
  other.family_ = family_;
  other.h = h;
  other.integers_.assign(integers_.begin(), integers_.end());
  other.reals_.assign(reals_.begin(), reals_.end());
  return other;
}

Step Record::view() const {
  const auto read = []<class T>(std::span<T> values) { return std::span<const T>(values); };
  Step step;
  step.h = h;
  step.mass_start = read(mass_start);
  step.mass_column = read(mass_column);
  step.mass_value = read(mass_value);
  step.velocity = read(velocity);
  step.force = read(force);
  step.jacobian_start = read(jacobian_start);
  step.jacobian_column = read(jacobian_column);
  step.jacobian_value = read(jacobian_value);
  step.block_start = read(block_start);
  step.kind = read(kind);
  step.value = read(value);
  step.offset = read(offset);
  step.stiffness = read(stiffness);
  step.damping = read(damping);
  step.exponent = read(exponent);
  step.dissipation = read(dissipation);
  step.lower = read(lower);
  step.upper = read(upper);
  step.friction = read(friction);
  return step;
}

void bind_record(nb::module_& module) {
  nb::class_<Record>(module, "Record", "The arrays of one step, as the engine reads them.")
      .def("arrays", &arrays, "Copies of the fields, in the order of pliant.flat.Flat.")
      .def(
          "offset", [](const Record& r) { return array_of(std::span<const double>(r.offset)); }, "A copy of e.")
      .def("shifted", &shifted, nb::arg("offset"), nb::arg("push"),
           "The same with other rate offsets, and a push added to the force.");
  module.def("lower", &lower, nb::arg("mass"), nb::arg("velocity"), nb::arg("force"), nb::arg("step"),
             nb::arg("constraints"), "The record of a validated problem.");
  module.def("from_arrays", &from_arrays, "The record of the fields of a pliant.flat.Flat.");
  module.def("is_sound_mass", &is_sound_mass, nb::arg("mass"),
             "Whether it is symmetric to the bit and positive definite beyond doubt.");
  module.def("finite_reals", &finite_reals, nb::arg("data").none(),
             "A read-only copy as float64 if all numbers are real and finite, else None.");
}

}  // namespace pliant
