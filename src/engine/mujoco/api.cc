#include "mujoco/api.h"

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <string>

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace pliant {

Mujoco mujoco;

namespace {

using Handler = mjfLogHandler;
Handler (*set_thread_handler)(Handler) = nullptr;
Handler (*global_handler)() = nullptr;

#if defined(_WIN32)
using Library = HMODULE;
Library loaded(const char* path) { return GetModuleHandleA(path); }
void* symbol(Library library, const char* name) { return reinterpret_cast<void*>(GetProcAddress(library, name)); }
#else
using Library = void*;
Library loaded(const char* path) { return dlopen(path, RTLD_NOW | RTLD_NOLOAD); }
void* symbol(Library library, const char* name) { return dlsym(library, name); }
#endif

template <class T>
void look_up(Library library, const char* name, T& to) {
  void* found = symbol(library, name);
  if (!found) throw std::runtime_error(std::string("MuJoCo's library has no ") + name);
  std::memcpy(&to, &found, sizeof found);
}

thread_local std::jmp_buf* way_out = nullptr;
thread_local char message[2048];
thread_local Handler others = nullptr;  // of messages that are no errors

void on_message(const mjLogMessage* told) {
  if (told->level != mjLOG_ERROR || !way_out) {
    if (others) others(told);
    return;
  }
  std::snprintf(message, sizeof message, "%s%s%s", told->func ? told->func : "", told->func ? ": " : "", told->subject);
  std::longjmp(*way_out, 1);
}

thread_local Margins::Of margin_of = nullptr;
thread_local void* margin_context = nullptr;

int collide(const mjModel* m, mjData* d, mjPreContact* contacts, int a, int b, mjtNum margin) {
  if (margin_of) margin = margin_of(margin_context, a, b, margin);
  return mujoco.collision[m->geom_type[a]][m->geom_type[b]](m, d, contacts, a, b, margin);
}

}  // namespace

Margins::Margins(Of of, void* context) : outer_(margin_of), outer_context_(margin_context) {
  margin_of = of;
  margin_context = context;
}

Margins::~Margins() {
  margin_of = outer_;
  margin_context = outer_context_;
}

bool Mujoco::has_callbacks() const {
#define PLIANT_SET(name) || *name
  return false PLIANT_MUJOCO_CALLBACKS(PLIANT_SET);
#undef PLIANT_SET
}

void load_mujoco(const char* path) {
  const Library library = loaded(path);
  if (!library) throw std::runtime_error(std::string("MuJoCo's library is not loaded: ") + path);
#define PLIANT_LOOK_UP(name) look_up(library, #name, mujoco.name);
  PLIANT_MUJOCO_FUNCTIONS(PLIANT_LOOK_UP)
  PLIANT_MUJOCO_CALLBACKS(PLIANT_LOOK_UP)
#undef PLIANT_LOOK_UP
  look_up(library, "_mjPRIVATE_setTlsLogHandler", set_thread_handler);
  look_up(library, "_mjPRIVATE_getGlobalLogHandler", global_handler);
  mjfCollision* table = nullptr;  // MuJoCo's own, in which a program may put what it likes
  look_up(library, "mjCOLLISIONFUNC", table);
  for (int k = 0; k < mjNGEOMTYPES * mjNGEOMTYPES; k++) {
    if (!table[k] || table[k] == &collide) continue;
    mujoco.collision[k / mjNGEOMTYPES][k % mjNGEOMTYPES] = table[k];
    table[k] = &collide;
  }
}

// As MuJoCo's own bindings do: a jump out of its C functions, which know no exceptions.
bool run_guarded(void (*calls)(void*), void* context) {
  std::jmp_buf here;
  std::jmp_buf* volatile const outer = way_out;
  const volatile Handler outer_others = others;
  const volatile Handler before = set_thread_handler(&on_message);
  others = before == nullptr ? global_handler() : before == &on_message ? others : before;
  volatile bool ended = false;
  if (setjmp(here) == 0) {
    way_out = &here;
    calls(context);
    ended = true;
  }
  way_out = outer;
  others = outer_others;
  set_thread_handler(before);
  return ended;
}

std::string last_mujoco_error() { return message; }

}  // namespace pliant
