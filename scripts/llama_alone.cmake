# llama.cpp without its common library, which no binding calls: llama-cpp-python's build forces the cached option on
set(LLAMA_BUILD_COMMON OFF)
