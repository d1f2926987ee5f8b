// The ingredients of the two tiers, each with its number. `python -m benchmarks.ablation` takes them away one by one: behind
// each stands the value that does so.
#pragma once

namespace pliant {

struct Tuning {
  // Newton's start
  double share_alone = 0.2;      // of the force that stops a contact alone, for one that the guess stops. 0: its law's
  double keeps_direction = 0.2;  // of slip, from before the step to the guess: a cosine. infinity: no slip is expected
  // Newton's steps
  int steps = 8;           // of tier 1. 0: the path at once
  double hopeless = 0.1;   // the best residual after four of them, at which the path takes over. infinity: goes on
  double slow = 0.01;      // after seven
  double proximal = 1e-6;  // of the rows' own scales. 1e-12: what only bounds P
  double finer = 1e-3;     // takes it down where it holds convergence up. 1: never
  double chord = 1e-4;     // residual below which old factors will do while the pieces stay. 0: never
  // The path
  int path = 1;             // 0: none
  double spread = 0.1;      // distance from the bounds at the start, in units of the energy norm
  double widest = 1e8;      // how far out a path that got stuck begins anew. 1: it does not
  double short_step = 0.3;  // steps below it damp the shift's derivative
  double damping = 0.5;     // its share after a short step. 1: always whole
  int second_order = 1;     // Mehrotra's
  int corrections = 3;      // Gondzio's, of a step that stays short. 0: none
  double fraction = 0.8;    // of a short step that is taken. 0.99: of every step
  int patience = 40;        // iterations in a row after which products must have halved. 1000: never
  double near = 1e-4;       // residual on the path at which Newton is tried. 0: only at its end
  int last_digits = 10;     // Newton steps from the best forces of a path that did not end. 0: none
  int again = 40;           // Newton steps from the start once more, where the path failed. 0: none
  // Contacts that close gradually
  int closing = 20;       // times max_iterations, where both tiers failed and a law is stiff. 0: none
  double finely = 1e-10;  // their proximal term. 1e-6: as anywhere
  // Digits
  double stiff = 1e8;        // h a S of a law that may take the digits of the others: twofold factors. infinity: never
  double cancellation = 10;  // forces over what moves, above which rates are twofold. infinity: never
  int polish = 8;            // Newton steps beyond the tolerance. 0: none
};

}  // namespace pliant
