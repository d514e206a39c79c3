"""Pictures of jobs as lowered: what runs, what it reads, and who reaches whom on which port.

`picture.picture` looks at a CR and its replica groups and makes the small model in `model`; `svg` and
`mermaid` turn that into text. All are pure functions, and the same job gives the same bytes.
"""
