# SPDX-License-Identifier: Apache-2.0
"""The library, built from the source release that this file is in. Needs no network: Vulkan's headers
and volk are the system's, and the kernels are compiled in the release."""
import re
from pathlib import Path

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, rm, rmdir
from conan.tools.system.package_manager import Apt


class Gpuexec(ConanFile):
    name = "gpuexec"
    description = ("Batches of finite-field and vector arithmetic on whatever is fastest on this machine. "
                   "Source: the release gpuexec-VERSION.tar.gz")
    license = "Apache-2.0"
    author = "gpuexec maintainers"
    topics = ("finite-field", "ntt", "msm", "bls12-381", "bn254", "gpu")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False]}
    default_options = {"shared": False}

    def set_version(self):
        header = (self.release() / "include/gpuexec/core.h").read_text()
        self.version = ".".join(re.findall(r"#define GX_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))

    def release(self):
        return Path(self.recipe_folder).parent.parent

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "CHANGELOG.md", "cmake/*", "include/*", "src/*", "spirv/*",
                        "ptx/*", "doc/*", "examples/*", "monitoring/*"):
            copy(self, pattern, str(self.release()), self.export_sources_folder)

    def system_requirements(self):
        Apt(self).install(["libvulkan-dev", "libvulkan-volk-dev"], check=True)

    def configure(self):
        self.settings.rm_safe("compiler.cppstd")
        self.settings.rm_safe("compiler.libcxx")

    def layout(self):
        cmake_layout(self)

    # Both libraries are linked from the same objects: one build gives both packages.
    def build_id(self):
        self.info_build.options.shared = "any"

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("CLI", "TESTS", "WEBGPU"):
            toolchain.cache_variables[f"GPUEXEC_{part}"] = False
        toolchain.cache_variables["GPUEXEC_BOTH_LIBRARIES"] = True
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        self.output.info("WebGPU: left out of this package; CMake builds it with -DGPUEXEC_WEBGPU=ON")
        cmake = CMake(self)
        cmake.install(component="development")
        cmake.install(component="runtime" if self.options.shared else "static")
        if not self.options.shared:
            rm(self, "libgpuexec.so", str(Path(self.package_folder) / "lib"))
        copy(self, "LICENSE", self.source_folder, str(Path(self.package_folder) / "licenses"))
        # Conan's generators write their own.
        for folder in ("lib/cmake", "lib/pkgconfig", "share"):
            rmdir(self, str(Path(self.package_folder) / folder))

    def package_info(self):
        self.cpp_info.libs = ["gpuexec"]
        if not self.options.shared:
            self.cpp_info.system_libs = ["pthread", "m", "dl"]
