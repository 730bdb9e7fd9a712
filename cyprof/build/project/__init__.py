"""Probed builds of whole projects, by their own build system: a checkout, or the source distribution of what is installed.

find.py says which project a name means, tree.py copies it, requirements.py and environment.py make the place it is built
in, backend.py calls its build system there (inject.py and shim.py are what runs inside), wheel.py looks at what came out,
and build.py puts them in order.
"""

from cyprof.build.project.build import BuiltProject, build_project
from cyprof.build.project.find import Project, find_project
from cyprof.build.project.settings import Settings

__all__ = ["BuiltProject", "Project", "Settings", "build_project", "find_project"]
