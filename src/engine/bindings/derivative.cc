#include "bindings/derivative.h"

#include <memory>
#include <mutex>
#include <vector>
#include "bindings/arrays.h"
#include "bindings/record.h"
#include "solve/derivative.h"
#include "solve/lookahead.h"

namespace pliant {

namespace {

// A derivative with the record that it reads. Threads take turns: its memory is that of one product.
struct Linearized {
  nb::object record;
  std::unique_ptr<Derivative> derivative;
  std::unique_ptr<std::mutex> turn = std::make_unique<std::mutex>();
};

// None: the laws are singular.
nb::object linearize(nb::handle record, nb::handle force, bool convex) {
  thread_local Patterns patterns;  // orders of elimination, which change no answer
  const Step step = nb::cast<const Record&>(record).view();
  const std::span<const double> forces = reals(force, "force");
  if (forces.size() != static_cast<std::size_t>(step.rows()))
    throw nb::value_error("force must have one entry per row");
  Linearized made{nb::borrow(record), nullptr};
  {
    const nb::gil_scoped_release unlocked;
    made.derivative = std::make_unique<Derivative>(step, forces, convex, patterns);
  }
  return made.derivative->regular() ? nb::cast(std::move(made)) : nb::none();
}

// One product per column: columns lie one after the other in what is given and in what comes back.
template <class Product>
nb::object products(const Linearized& linearized, nb::handle given, std::size_t from, std::size_t to, Product product) {
  const std::span<const double> columns = reals(given, "columns");
  const std::size_t count = from > 0 ? columns.size() / from : 0;
  if (columns.size() != count * from) throw nb::value_error("columns do not have the length of this derivative");
  NewReals made = new_reals(count * to);
  {
    const nb::gil_scoped_release unlocked;
    const std::scoped_lock alone(*linearized.turn);
    for (std::size_t k = 0; k < count; k++) product(columns.subspan(k * from, from), made.values.subspan(k * to, to));
  }
  return std::move(made.array);
}

nb::object forward(const Linearized& linearized, nb::handle data) {
  Derivative& d = *linearized.derivative;
  return products(linearized, data, d.data(), d.results(), [&d](auto from, auto to) { d.forward(from, to); });
}

nb::object transposed(const Linearized& linearized, nb::handle results) {
  Derivative& d = *linearized.derivative;
  return products(linearized, results, d.results(), d.data(), [&d](auto from, auto to) { d.transposed(from, to); });
}

// Z by rows, columns and values of its entries: G in velocities in which the inertia is the identity.
nb::tuple whitened_rows(const Record& record) {
  Workspace work;
  Patterns patterns;
  Rows rows;
  const Step step = record.view();
  const Islands islands = find_islands(step, work);
  std::vector<std::int64_t> row, column;
  std::vector<double> value;
  for (int k = 0; k < islands.count; k++) {
    const Workspace::Mark mark = work.mark();
    rows.load(step, islands.at(k), patterns, work);
    const View<double> z = work.take<double>(rows.velocities);
    for (const Group& g : rows.group) {
      for (int i = 0; i < g.rows; i++) {
        rows.expand(g, i, z);
        for (int c = 0; c < g.width; c++) {
          row.push_back(rows.source[g.first_row + i]);
          column.push_back(islands.velocity_start[k] + rows.column[g.columns + c]);
          value.push_back(z[c]);
        }
      }
    }
    work.release(mark);
  }
  return nb::make_tuple(array_of(row), array_of(column), array_of(value));
}

// (offsets, by how much they miss the last ones)
nb::tuple look_ahead_of(const Record& record, nb::handle phi, nb::handle velocity, nb::handle offset, double place) {
  const Step step = record.view();
  const auto m = static_cast<std::size_t>(step.rows());
  const std::span<const double> reached = reals(phi, "phi"), v = reals(velocity, "velocity"),
                                last = reals(offset, "offset");
  if (reached.size() != m || last.size() != m || v.size() != static_cast<std::size_t>(step.velocities())) {
    throw nb::value_error("phi and offset must have one entry per row, velocity one per velocity");
  }
  NewReals target = new_reals(m);
  const double miss = look_ahead(step, reached, v, last, place, target.values);
  return nb::make_tuple(std::move(target.array), miss);
}

}  // namespace

void bind_derivative(nb::module_& module) {
  nb::class_<Linearized>(module, "Derivative", "How an answer moves with the data of its step.")
      .def("forward", &forward, nb::arg("data"),
           "Changes of v1 and the forces; data: v0, f, then value, rate_offset, stiffness, damping, friction of all "
           "rows.")
      .def("transposed", &transposed, nb::arg("results"), "The transposed product, from results to data.");
  module.def("linearize", &linearize, nb::arg("record"), nb::arg("force"), nb::arg("convex"),
             "The derivative of an answer, None where there is none; convex: of the associated cone.");
  module.def("whitened", &whitened_rows, nb::arg("record"),
             "Rows, columns and values of the entries of G in velocities in which the inertia is the identity.");
  module.def("look_ahead", &look_ahead_of, nb::arg("record"), nb::arg("phi"), nb::arg("velocity"), nb::arg("offset"),
             nb::arg("place"),
             "Rate offsets that lead to phi, NaN where it is not known, and how far they are from the last ones.");
}

}  // namespace pliant
